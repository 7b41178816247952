// Command: a child process whose standard input and output are a Stream.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "transport/child_process.hpp"
#include "transport/fd_stream.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

class Command {
 public:
  /// Starts `arguments`, the first looked for in PATH. It does not hear of Ctrl-C, which is for us to act on.
  /// What it prints to standard error goes to the log. Errors name the program.
  static Result<std::shared_ptr<Command>> start(transport::Loop& loop, Log log,
                                                std::vector<std::string> arguments);

  Command(transport::Loop& loop, Log log, std::string name);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Its standard input and output. Once.
  [[nodiscard]] std::unique_ptr<transport::FdStream> take_stream() { return std::move(stream_); }
  [[nodiscard]] transport::FdStream& stream() { return *stream_; }
  /// The program's name.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Passes once it has ended, which must not take long by now: how; nothing if it takes too long.
  transport::Task<std::optional<int>> exit_code();
  /// Passes once it has ended, which must not take long by now, and says how: "ssh ended with code 255:
  /// Permission denied".
  transport::Task<Error> ended();
  /// What is known of why its stream ended: `why`, with what it has printed last.
  [[nodiscard]] std::string explain(const Error& why) const;

 private:
  transport::Task<void> read_messages();
  void take_line(std::string line);

  transport::Loop& loop_;
  Log log_;
  std::string name_;
  std::unique_ptr<transport::ChildProcess> process_;
  std::unique_ptr<transport::FdStream> stream_;
  std::unique_ptr<transport::FdStream> messages_;  ///< Its standard error.
  std::string last_line_;
  std::size_t lines_ = 0;
  transport::TaskSet tasks_;
};

// Commands that are run to their end for what they print.

/// Bytes for a command's standard input; null: none.
using CommandInput = std::shared_ptr<const std::vector<std::byte>>;

/// Runs a command to its end and returns its standard output. Errors: it can't be started, fails (with what
/// it has printed last), takes too long, or prints without end.
transport::Task<Result<std::string>> capture(transport::Loop& loop, std::vector<std::string> arguments,
                                             CommandInput input = nullptr);

}  // namespace farport::router
