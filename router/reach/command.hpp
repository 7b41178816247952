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
  /// Starts `arguments`; the first is looked for in PATH. Ctrl-C does not reach the command, since this
  /// program acts on it. Its standard error goes to the log. Errors name the program.
  static Result<std::shared_ptr<Command>> start(transport::Loop& loop, Log log,
                                                std::vector<std::string> arguments);

  Command(transport::Loop& loop, Log log, std::string name);
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Its standard input and output. To be taken once.
  [[nodiscard]] std::unique_ptr<transport::FdStream> take_stream() { return std::move(stream_); }
  [[nodiscard]] transport::FdStream& stream() { return *stream_; }
  /// The program's name.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Waits until it has exited, and returns its exit code. Call it when the command is about to exit; empty
  /// if that takes too long.
  transport::Task<std::optional<int>> exit_code();
  /// Waits until it has exited, and returns how: "ssh ended with code 255: Permission denied". Call it when
  /// the command is about to exit.
  transport::Task<Error> ended();
  /// Why its stream ended: `why`, with the last line that it printed.
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

/// Bytes for a command's standard input; null: none.
using CommandInput = std::shared_ptr<const std::vector<std::byte>>;

/// Runs a command to its end and returns its standard output. Fails if it can't be started, fails (with the
/// last line it printed), takes too long, or prints too much.
transport::Task<Result<std::string>> capture(transport::Loop& loop, std::vector<std::string> arguments,
                                             CommandInput input = nullptr);

}  // namespace farport::router
