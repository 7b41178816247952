#include <cstdio>

#include "cli/commands.hpp"
#include "cli/text.hpp"

namespace farport::cli {

int report(const Error& error, int exit_code) {
  print_message(error.message());
  return exit_code;
}

int report(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) print_message(problem);
  return kUsage;
}

}  // namespace farport::cli
