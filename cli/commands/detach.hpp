// A process that goes on without the terminal that it was started from.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"

namespace farport::cli {

/// Has the standard streams lead nowhere, so that nobody who reads them waits for this process.
void close_streams();

/// What a detached process has to say to who started it: once, how its start went. They wait for it.
class StartReport {
 public:
  explicit StartReport(UniqueFd to) : to_(std::move(to)) {}

  /// Prints `text` there, as standard output, and has the command end with success. False: they have gone
  /// away meanwhile.
  bool succeeded(const std::string& text) { return send(0, text); }
  /// Prints the error there, and has the command end with `exit_code`, which is returned. After succeeded()
  /// it is for the log alone.
  int failed(const Error& error, int exit_code);

 private:
  bool send(int exit_code, const std::string& text);

  UniqueFd to_;
};

/// Which of the two processes this is: one of the two members is there.
struct Detached {
  std::optional<int> exit_code{};       ///< The one that was started: it ends with this.
  std::optional<StartReport> report{};  ///< The one that goes on.
};

/// Makes a process that goes on: in a session of its own, with no file of ours but the report, and standard
/// streams that lead nowhere. The other one waits until it has reported, prints that, and ends. Errors: no
/// process can be made.
[[nodiscard]] Result<Detached> detach();

}  // namespace farport::cli
