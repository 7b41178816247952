#include <cstdio>

#include "cli/commands.hpp"
#include "cli/text.hpp"

namespace farport::cli {

int report(const Error& error, int exit_code) {
  print(stderr, "farport: {}\n", error.message());
  return exit_code;
}

int report(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) print(stderr, "farport: {}\n", problem);
  return kUsage;
}

}  // namespace farport::cli
