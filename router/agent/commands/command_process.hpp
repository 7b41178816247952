// CommandProcess: the helper process that runs commands of the operator's, such as the one that takes what is
// kept to a store. The agent itself can start no program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "router/agent/commands/operator_command.hpp"
#include "router/helpers/helper_process.hpp"
#include "transport/fd_stream.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// How a command has ended.
struct CommandResult {
  int exit_code = 0;
  int signal = 0;            ///< That has killed it; 0: none.
  bool read_all = false;     ///< Whether it was given all of its input, and has read it.
  std::string output{};      ///< The first bytes of its standard output.
  std::string last_words{};  ///< The last line of its standard error.

  /// Nothing if it has succeeded, and else what went wrong.
  [[nodiscard]] std::string why_failed() const;
};

/// A command under way. Destroying this kills it.
class RunningCommand {
 public:
  /// Both are the same socket.
  RunningCommand(transport::Loop& loop, UniqueFd input, UniqueFd result, Lifeline lifeline);

  /// Its standard input. finish() says that it is whole.
  [[nodiscard]] transport::Stream& input() { return input_; }
  /// Waits for its end. Errors: the process that runs commands was ended.
  transport::Task<Result<CommandResult>> result();
  /// Has result() fail with this error.
  void give_up(const Error& why) {
    input_.abort(why);
    result_.abort(why);
  }

 private:
  Lifeline lifeline_;          ///< Of the process that starts it.
  transport::FdStream input_;  ///< If it breaks, the result still says why.
  transport::FdStream result_;
};

/// A pipe that another process holds open, too. Destroying this ends that.
class HeldPipe {
 public:
  HeldPipe(std::unique_ptr<transport::FdStream> holder, Lifeline lifeline)
      : lifeline_(std::move(lifeline)), holder_(std::move(holder)) {}
  HeldPipe(HeldPipe&&) = default;
  HeldPipe& operator=(HeldPipe&&) = delete;
  ~HeldPipe();

 private:
  Lifeline lifeline_;
  std::unique_ptr<transport::FdStream> holder_;
};

/// The helper process. It is forked before the agent has given anything up or read a key. It runs only the
/// commands that it was started with.
class CommandProcess {
 public:
  /// Runs `confine` in it first. Errors: it can't be started.
  [[nodiscard]] static Result<CommandProcess> start(std::vector<OperatorCommand> commands,
                                                    std::function<void()> confine);

  [[nodiscard]] const HelperProcess& process() const { return process_; }

  /// Begins a command. Errors: there is no such command, or the helper has ended.
  [[nodiscard]] Result<std::unique_ptr<RunningCommand>> begin(transport::Loop& loop, std::size_t command,
                                                              const CommandVariables& variables) const;

  /// Has another process hold the reading end of a named pipe. If this process is killed before a writer has
  /// opened the pipe, that one would wait for a reader for ever: the other process lets it open the pipe and
  /// write something, and ends then, so that writing fails (pipe(7), EPIPE). Errors: the helper has ended.
  [[nodiscard]] transport::Task<Result<HeldPipe>> hold(transport::Loop& loop, UniqueFd reading) const;

 private:
  explicit CommandProcess(HelperProcess process) : process_(std::move(process)) {}

  HelperProcess process_;
};

}  // namespace farport::router
