#include <cstdio>

#include "cli/commands.hpp"

namespace farport::cli {

int report(const Error& error, int exit_code) {
  std::fprintf(stderr, "farport: %s\n", error.message().c_str());
  return exit_code;
}

int report(const std::vector<std::string>& problems) {
  for (const std::string& problem : problems) std::fprintf(stderr, "farport: %s\n", problem.c_str());
  return kUsage;
}

}  // namespace farport::cli
