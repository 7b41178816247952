#include "router/reach/command.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "base/files.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::Task;

/// Limits for standard error: bytes of a line, and lines that are logged.
constexpr std::size_t kLongestLine = 1000;
constexpr std::size_t kMaxLines = 100;
/// How long a command may take to exit after it has closed its output.
constexpr transport::Milliseconds kUntilEnded{2000};
/// Last lines of container engines and kubectl after any failure. They would hide the line that names the
/// cause.
constexpr std::array<std::string_view, 3> kLastWords{"command terminated with exit code", "Run 'docker",
                                                     "See 'docker"};
/// Exit code of a shell that does not find the program (POSIX, Shell Command Language 2.8.2).
constexpr int kNotFound = 127;

Result<SocketPair> socket_pair() {
  ASSIGN_OR_RETURN(auto pair, make_socket_pair(SOCK_STREAM));
  // Only on our end: programs do not expect standard streams that don't block.
  ::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK);
  return pair;
}

}  // namespace

Command::Command(transport::Loop& loop, Log log, std::string name)
    : loop_(loop), log_(std::move(log)), name_(std::move(name)), tasks_(loop) {}

Result<std::shared_ptr<Command>> Command::start(transport::Loop& loop, Log log,
                                                std::vector<std::string> arguments) {
  auto streams = socket_pair();
  auto messages = socket_pair();
  if (!streams || !messages) return tl::unexpected(streams ? messages.error() : streams.error());
  auto command = std::make_shared<Command>(loop, std::move(log), std::string(file_of(arguments.front())));
  std::vector<std::string> ignoring{"/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh"};
  ignoring.insert(ignoring.end(), arguments.begin(), arguments.end());
  const int standard = streams->theirs.get();
  ASSIGN_OR_RETURN(auto process,
                   transport::ChildProcess::start(
                       loop, {std::move(ignoring), {}, {standard, standard, messages->theirs.get()}}));
  command->process_ = std::move(process);
  command->stream_ = std::make_unique<FdStream>(loop, std::move(streams->ours), command->name_);
  command->messages_ = std::make_unique<FdStream>(loop, std::move(messages->ours), command->name_);
  command->tasks_.spawn(command->read_messages());
  return command;
}

Task<void> Command::read_messages() {
  std::string line;
  std::array<std::byte, 512> part{};
  for (;;) {
    const transport::Io got = co_await messages_->read(part);
    if (got.status != transport::IoStatus::ok) break;
    for (std::size_t i = 0; i < got.bytes; ++i) {
      const char c = static_cast<char>(part[i]);
      if (c == '\n' || c == '\r') {
        take_line(std::exchange(line, {}));
      } else if (line.size() < kLongestLine) {
        line += c;
      }
    }
  }
  take_line(std::move(line));
}

void Command::take_line(std::string line) {
  if (line.empty()) return;
  if (++lines_ <= kMaxLines) log_->info("{}: {}", name_, line);
  const bool last_word = std::any_of(kLastWords.begin(), kLastWords.end(),
                                     [&](std::string_view words) { return line.starts_with(words); });
  if (!last_line_.empty() && last_word) return;
  last_line_ = std::move(line);
}

Task<std::optional<int>> Command::exit_code() {
  const std::optional<int> code = co_await with_deadline(loop_, process_->wait(), kUntilEnded);
  co_return code;
}

Task<Error> Command::ended() {
  const std::optional<int> code = co_await exit_code();
  std::string why = name_ + " has closed its output";
  if (code) why = fmt::format("{} ended with code {}", name_, *code);
  // The last output may still be in flight.
  co_await with_deadline(loop_, tasks_.idle(), kUntilEnded);
  if (!last_line_.empty()) why += ": " + last_line_;
  const bool missing = code && *code == kNotFound;
  co_return Error{"reach", {}, std::move(why), missing ? "is farport installed there, and in PATH?" : ""};
}

std::string Command::explain(const Error& why) const {
  return last_line_.empty() ? why.why : fmt::format("{} ({}: {})", why.why, name_, last_line_);
}

namespace {

using transport::IoStatus;

constexpr transport::Milliseconds kLimit{60'000};
/// More than the JSON of a thousand pods.
constexpr std::size_t kMaxOutput = 32ULL << 20;
constexpr std::size_t kPart = 16 * 1024;

Task<Result<std::string>> run_to_end(Command& command, CommandInput input) {
  transport::Stream& stream = command.stream();
  // A command that does not read its input has no need of it, and reports what is wrong itself.
  if (input == nullptr) {
    std::ignore = co_await stream.finish();
  } else {
    std::ignore = co_await stream.write_last(std::span<const std::byte>(*input));
  }
  std::string output;
  std::array<std::byte, kPart> part{};
  for (;;) {
    const transport::Io got = co_await stream.read(part);
    if (got.status != IoStatus::ok) break;
    output.append(reinterpret_cast<const char*>(part.data()), got.bytes);
    if (output.size() > kMaxOutput) co_return fail("run", command.name(), "its output exceeds the limit");
  }
  const std::optional<int> code = co_await command.exit_code();
  if (code == 0) co_return output;
  Error why = co_await command.ended();
  co_return tl::unexpected(std::move(why));
}

}  // namespace

Task<Result<std::string>> capture(transport::Loop& loop, std::vector<std::string> arguments,
                                  CommandInput input) {
  CO_ASSIGN_OR_RETURN(auto started, Command::start(loop, make_silent_log(), std::move(arguments)));
  const std::shared_ptr<Command> command = std::move(started);
  auto output = co_await with_deadline(loop, run_to_end(*command, std::move(input)), kLimit);
  if (!output)
    co_return fail("run", command->name(),
                   fmt::format("{} has not ended within {} s", command->name(), kLimit.count() / 1000));
  co_return std::move(*output);
}

}  // namespace farport::router
