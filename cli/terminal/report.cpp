#include <cerrno>
#include <cstdio>

#include "cli/options/commands.hpp"
#include "cli/terminal/text.hpp"

namespace farport::cli {

int report(const Error& error) {
  if (error.cause == EINTR) return report(error, kInterrupted);
  return report(error, error.cause == Cause::silence() ? kNoAnswer : kFailure);
}

int report(const Error& error, int exit_code) {
  print_message(error.message());
  return exit_code;
}

int report_output(const Error& error) {
  const bool wrong_name = error.cause == Cause() || error.cause == EEXIST;
  return report(error, wrong_name ? kUsage : kFailure);
}

int report(const std::vector<std::string>& problems) {
  print_messages(problems);
  return kUsage;
}

}  // namespace farport::cli
