#include "router/agent/commands/command_process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.hpp"
#include "router/agent/commands/command_supervisor.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

constexpr std::size_t kMaxLastWords = 400;
/// The request to hold a pipe.
constexpr std::string_view kHold = "hold";
/// Pauses between two looks for a writer after the reader was killed: in the first minutes, and later.
constexpr std::chrono::milliseconds kLookForWriter{20};
constexpr std::chrono::milliseconds kLookLater{1'000};
constexpr int kLooksAtFirst = 15'000;
/// A result is shorter than this.
constexpr std::size_t kMaxResult = std::size_t{64} << 10;

/// The request: the command's number, and each variable as NAME=VALUE and a zero byte.
std::string encoded_command(std::size_t command, const CommandVariables& variables) {
  std::string request = std::to_string(command) + '\0';
  for (const auto& [name, value] : variables) request += name + '=' + command_value(value) + '\0';
  return request;
}

struct CommandRequest {
  std::size_t command = 0;
  CommandVariables variables;
};

/// Returns nothing if the bytes are no request.
std::optional<CommandRequest> decoded_command(std::string_view bytes) {
  CommandRequest request;
  for (bool is_first = true; !bytes.empty(); is_first = false) {
    const std::size_t end = bytes.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view item = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (is_first) {
      const auto number = number_in<std::size_t>(item);
      if (!number) return std::nullopt;
      request.command = *number;
      continue;
    }
    const std::size_t sign = item.find('=');
    if (sign == std::string_view::npos) return std::nullopt;
    // The agent has done this, too, but it faces the network: it may not be itself any more.
    request.variables.emplace_back(command_value(item.substr(0, sign)), command_value(item.substr(sign + 1)));
  }
  return request;
}

/// The last line with something in it.
std::string last_line(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t end = text.find_last_not_of(kBlanks);
  if (end == std::string_view::npos) return {};
  text = text.substr(0, end + 1);
  const std::size_t before = text.find_last_of("\r\n");
  return std::string(
      shortened(text.substr(before == std::string_view::npos ? 0 : before + 1), kMaxLastWords));
}

Result<CommandResult> decoded_result(std::string_view text) {
  CommandResultHead head;
  if (text.size() >= sizeof head) std::memcpy(&head, text.data(), sizeof head);
  if (text.size() < sizeof head || text.size() - sizeof head != std::size_t{head.output} + head.messages)
    return fail("run", "the command", "the process that runs commands was ended");
  text.remove_prefix(sizeof head);
  return CommandResult{head.exit_code, head.signal, head.read_all != 0,
                       std::string(text.substr(0, head.output)), last_line(text.substr(head.output))};
}

/// Tells the other process that it may go on.
void say(int to) {
  constexpr char kSaid = 1;
  std::ignore = ::send(to, &kSaid, sizeof kSaid, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Whether the agent has said that the pipe need not be held any more. Waits for that, or its end.
bool is_released(const UniqueFd& agent) {
  std::byte said{};
  ssize_t got = 0;
  do {
    got = ::recv(agent.get(), &said, 1, 0);
  } while (got < 0 && errno == EINTR);
  return got > 0;
}

void hold_pipe(const UniqueFd& pipe, const UniqueFd& agent) {
  say(agent.get());
  if (is_released(agent)) return;
  // Nobody opens a pipe that has no name any more.
  struct stat status {};
  for (int looks = 0; ::fstat(pipe.get(), &status) == 0 && status.st_nlink > 0; ++looks) {
    std::byte ignored{};
    if (::read(pipe.get(), &ignored, 1) > 0) return;
    std::this_thread::sleep_for(looks < kLooksAtFirst ? kLookForWriter : kLookLater);
  }
}

void run_requested(const std::vector<OperatorCommand>& commands, std::string_view bytes,
                   std::vector<UniqueFd> descriptors) {
  if (bytes == kHold && descriptors.size() == 2) {
    // This process is killed with the agent.
    if (::_Fork() == 0) hold_pipe(descriptors.front(), descriptors.back());
    return;
  }
  const auto request = decoded_command(bytes);
  if (!request || request->command >= commands.size() || descriptors.size() != 1) return;
  // This process is killed with the agent, and its end would be the end of the command's input. So another
  // one supervises the command, and ends by itself.
  if (::_Fork() != 0) return;
  supervise_command(commands[request->command], request->variables, std::move(descriptors.front()));
}

}  // namespace

std::string CommandResult::why_failed() const {
  const std::string last = last_words.empty() ? "" : ": " + last_words;
  if (signal != 0) return fmt::format("signal {} has killed it{}", signal, last);
  if (exit_code != 0) return fmt::format("exit code {}{}", exit_code, last);
  if (!read_all) return "it ended with exit code 0 before it had read everything" + last;
  return {};
}

RunningCommand::RunningCommand(transport::Loop& loop, UniqueFd input, UniqueFd result, Lifeline lifeline)
    : lifeline_(std::move(lifeline)),
      input_(loop, std::move(input), "the command"),
      result_(loop, std::move(result), "the command") {}

Task<Result<CommandResult>> RunningCommand::result() {
  std::string text;
  std::array<std::byte, 4096> piece{};
  for (;;) {
    const transport::Io got = co_await result_.read(piece);
    // What the command has left of its input breaks the socket (ECONNRESET), but after the result.
    if (got.status == IoStatus::failed && text.empty()) co_return tl::unexpected(result_.error());
    if (got.status != IoStatus::ok) break;
    text.append(reinterpret_cast<const char*>(piece.data()), got.bytes);
    if (text.size() > kMaxResult) break;
  }
  co_return decoded_result(text);
}

Result<CommandProcess> CommandProcess::start(std::vector<OperatorCommand> commands,
                                             std::function<void()> confine) {
  auto run = [commands = std::move(commands)](std::string_view request, std::vector<UniqueFd> descriptors) {
    run_requested(commands, request, std::move(descriptors));
  };
  ASSIGN_OR_RETURN(auto process, HelperProcess::start({kCommandsName, std::move(confine), std::move(run)}));
  return CommandProcess(std::move(process));
}

HeldPipe::~HeldPipe() {
  if (holder_) say(holder_->fd());
}

Task<Result<HeldPipe>> CommandProcess::hold(transport::Loop& loop, UniqueFd reading) const {
  CO_ASSIGN_OR_RETURN(auto sockets, make_socket_pair(SOCK_STREAM));
  if (::fcntl(sockets.ours.get(), F_SETFL, O_NONBLOCK) != 0)
    co_return fail_errno("make", "a pair of sockets", errno);
  CO_ASSIGN_OR_RETURN(auto lifeline, process_.begin(kHold, {reading.get(), sockets.theirs.get()}));
  sockets.theirs.reset();
  auto holder =
      std::make_unique<transport::FdStream>(loop, std::move(sockets.ours), "what holds the dump's pipe");
  std::byte said{};
  const transport::Io got = co_await holder->read({&said, 1});
  if (got.status != IoStatus::ok)
    co_return fail("hold", "the dump's pipe", "the process that runs commands was ended");
  co_return HeldPipe(std::move(holder), std::move(lifeline));
}

Result<std::unique_ptr<RunningCommand>> CommandProcess::begin(transport::Loop& loop, std::size_t command,
                                                              const CommandVariables& variables) const {
  const std::string request = encoded_command(command, variables);
  if (request.size() > HelperProcess::kMaxRequest)
    return fail("start", "a command", "what it is to be told is too long");
  ASSIGN_OR_RETURN(auto sockets, make_socket_pair(SOCK_STREAM));
  if (::fcntl(sockets.ours.get(), F_SETFL, O_NONBLOCK) != 0)
    return fail_errno("make", "a pair of sockets", errno);
  ASSIGN_OR_RETURN(auto lifeline, process_.begin(request, {sockets.theirs.get()}));
  UniqueFd result(::fcntl(sockets.ours.get(), F_DUPFD_CLOEXEC, 0));
  if (!result) return fail_errno("make", "a pair of sockets", errno);
  return std::make_unique<RunningCommand>(loop, std::move(sockets.ours), std::move(result),
                                          std::move(lifeline));
}

}  // namespace farport::router
