#include "router/reach/reach.hpp"

#include <cerrno>

#include "router/reach/command.hpp"
#include "router/reach/greeting.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// How long a command may take to lead to an agent: somebody may have to type a password meanwhile.
constexpr transport::Milliseconds kUntilGreeted{120'000};
/// What may be printed before the greeting, in bytes.
constexpr std::size_t kMostNoise = 64 * 1024;

enum class Greeting { came, ended, something_else };

/// Reads to the greeting and no further.
Task<Greeting> greeted(transport::Stream& stream) {
  std::string line;
  for (std::size_t read = 0; read < kMostNoise;) {
    std::byte next{};
    const transport::Io got = stream.try_read(std::span(&next, 1));
    if (got.status == IoStatus::would_block) {
      co_await stream.readable();
      continue;
    }
    if (got.status != IoStatus::ok) co_return Greeting::ended;
    ++read;
    if (static_cast<char>(next) != '\n') {
      line += static_cast<char>(next);
      continue;
    }
    // A terminal in between, as of ssh -t, would break the session: it doesn't have this form then.
    if (line == kGreeting) co_return Greeting::came;
    line.clear();
  }
  co_return Greeting::something_else;
}

class CommandReach final : public Reach {
 public:
  CommandReach(std::string text, std::vector<std::string> arguments)
      : Reach(std::move(text)), arguments_(std::move(arguments)) {}

  [[nodiscard]] Task<Result<Reached>> open(transport::Loop& loop, Log log) const override {
    auto started = Command::start(loop, std::move(log), arguments_);
    if (!started) co_return tl::unexpected(started.error());
    const std::shared_ptr<Command> command = std::move(*started);
    const std::optional<Greeting> greeting =
        co_await with_deadline(loop, greeted(command->stream()), kUntilGreeted);
    if (!greeting) {
      co_return fail("reach", text(), "no farport stdio has answered in time", "does the command run it?");
    }
    if (*greeting == Greeting::something_else) {
      co_return fail("reach", text(), "the command says something else than farport stdio would",
                     "does it run that?");
    }
    if (*greeting == Greeting::ended) {
      Error why = co_await command->ended();
      why.on = text();
      co_return tl::unexpected(std::move(why));
    }
    std::unique_ptr<transport::FdStream> stream = command->take_stream();
    stream->keep(command);
    Reached reached{std::move(stream), {}};
    reached.explain = [command](const Error& why) { return command->explain(why); };
    co_return reached;
  }

 private:
  std::vector<std::string> arguments_;
};

}  // namespace

Result<std::shared_ptr<const Reach>> reach_of(const std::string& text) {
  constexpr std::string_view kSsh = "ssh://";
  std::string host = text.starts_with(kSsh) ? text.substr(kSsh.size()) : std::string();
  std::vector<std::string> arguments{"ssh", "-T"};
  const std::size_t colon = host.rfind(':');
  if (colon != std::string::npos && host.back() != ']') {
    arguments.insert(arguments.end(), {"-p", host.substr(colon + 1)});
    host.resize(colon);
  }
  // What begins with a dash would be an option of ssh's.
  if (host.empty() || host.front() == '-') {
    return fail("reach", text, "it names no host", "write ssh://HOST or ssh://USER@HOST:PORT");
  }
  arguments.insert(arguments.end(), {"--", host, "farport stdio"});
  return std::make_shared<CommandReach>(text, std::move(arguments));
}

std::shared_ptr<const Reach> reach_by_shell(const std::string& command) {
  // As ssh has it for ProxyCommand: no shell stays behind that would have to be ended, too.
  return std::make_shared<CommandReach>(command,
                                        std::vector<std::string>{"/bin/sh", "-c", "exec " + command});
}

}  // namespace farport::router
