#include "router/reach/stdio_command.hpp"

#include <fmt/format.h>

#include "router/reach/command.hpp"
#include "router/reach/deploy.hpp"
#include "transport/race.hpp"
#include "transport/stream.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// Most bytes that may be printed before the greeting.
constexpr std::size_t kMaxNoise = 64 * 1024;
/// Size of the pieces in which the program is sent, and the time limit for each: 128 kbit/s.
constexpr std::size_t kPiece = 256 * 1024;
constexpr transport::Milliseconds kPieceLimit{16'000};

/// Most characters of a remote path that are shown.
constexpr std::size_t kLongestPath = 200;

/// Most avoided paths; the script tries fewer places.
constexpr int kMaxAvoided = 16;

/// What a command prints before the session begins.
struct ControlLine {
  enum class Kind { nothing, ended, greeting, send_gzip, send_plain, avoided };
  Kind kind = Kind::nothing;
  std::string path{};  ///< The avoided path.
};

ControlLine meaning_of(std::string_view line) {
  if (line == kGreeting) return {ControlLine::Kind::greeting};
  if (line.starts_with(kAvoidedNotice)) {
    return {ControlLine::Kind::avoided, std::string(line.substr(kAvoidedNotice.size(), kLongestPath))};
  }
  if (!line.starts_with(kSendRequest)) return {};
  const std::string_view form = line.substr(kSendRequest.size());
  if (form == "gzip") return {ControlLine::Kind::send_gzip};
  return {form == "plain" ? ControlLine::Kind::send_plain : ControlLine::Kind::nothing};
}

/// Reads up to the first line that means something, and no further. Kind::nothing: too much else was printed.
Task<ControlLine> read_said(transport::Stream& stream) {
  // A terminal in between, as with ssh -t, ends lines differently, so no greeting is recognised. It would
  // break the session.
  transport::LineFilter means_something = [](std::string_view line) {
    return meaning_of(line).kind != ControlLine::Kind::nothing;
  };
  const auto line = co_await transport::read_to_line(stream, std::move(means_something), kMaxNoise);
  ControlLine said;
  if (line) said = meaning_of(*line);
  if (!line && line.error() == transport::NoLine::ended) said.kind = ControlLine::Kind::ended;
  co_return said;
}

Task<IoStatus> write_piece(transport::Stream& stream, std::span<const std::byte> piece) {
  const IoStatus status = co_await stream.write(piece);
  co_return status;
}

/// Sends the size in a line of its own, then the bytes.
Task<Result<void>> send(transport::Stream& stream, std::span<const std::byte> content) {
  const std::string size = std::to_string(content.size()) + "\n";
  std::span<const std::byte> piece = std::as_bytes(std::span(size));
  for (;;) {
    const auto status = co_await with_deadline(stream.loop(), write_piece(stream, piece), kPieceLimit);
    if (!status) co_return fail("send farport to", {}, "it is not taken there");
    // The command's exit status will say more.
    if (*status != IoStatus::ok || content.empty()) co_return Result<void>();
    piece = content.first(std::min(kPiece, content.size()));
    content = content.subspan(piece.size());
  }
}

Task<Result<void>> send_program(transport::Stream& stream, StdioCommand& what, bool packed) {
  const std::shared_ptr<const StaticProgram> program = std::exchange(what.program, nullptr);
  if (program == nullptr) co_return fail("reach", what.text, "it asks for a program that it is not to have");
  std::vector<std::byte> content;
  if (packed) content = co_await gzip(stream.loop(), program);
  const std::span<const std::byte> sent = packed ? std::span<const std::byte>(content) : program->content();
  what.announce(
      fmt::format("{}: sends farport there ({:.1f} MB) into a directory of its own, removed when it exits",
                  what.text, static_cast<double>(sent.size()) / 1e6));
  auto done = co_await send(stream, sent);
  co_return done;
}

/// Whether runc or crun reports that the container has no shell.
bool lacks_shell(const Error& error) {
  const std::string_view why = error.why;
  const bool not_there = why.find("not found") != std::string_view::npos ||
                         why.find("no such file") != std::string_view::npos ||
                         why.find("No such file") != std::string_view::npos;
  return not_there &&
         (why.find("\"sh\"") != std::string_view::npos || why.find("`sh`") != std::string_view::npos);
}

/// Answers the command's requests until it prints the greeting.
Task<Result<void>> await_greeting(Command& command, StdioCommand& what) {
  using Kind = ControlLine::Kind;
  for (int avoided = 0;;) {
    const auto said =
        co_await with_deadline(command.stream().loop(), read_said(command.stream()), what.patience);
    if (!said)
      co_return fail("reach", what.text, "no farport stdio has answered in time", "does the command run it?");
    if (said->kind == Kind::greeting) co_return Result<void>();
    if (said->kind == Kind::avoided && what.announce && ++avoided <= kMaxAvoided) {
      what.announce(
          fmt::format("{}: does not use {} there: it was there before, and another user may have made "
                      "or changed it",
                      what.text, said->path));
      continue;
    }
    if (said->kind == Kind::nothing || said->kind == Kind::avoided) {
      co_return fail("reach", what.text, "the command's output is not that of farport stdio",
                     "does it run farport stdio, and print nothing else?");
    }
    if (said->kind == Kind::ended) {
      Error why = co_await command.ended();
      why.on = what.text;
      if (!what.without_shell.empty() && lacks_shell(why)) {
        why.why = "its image has no shell to bring farport along with";
        why.hint = what.without_shell;
      }
      co_return tl::unexpected(std::move(why));
    }
    CO_RETURN_IF_ERROR(co_await send_program(command.stream(), what, said->kind == Kind::send_gzip));
  }
}

}  // namespace

void append_helper_words(std::vector<std::string>& command, std::chrono::milliseconds linger) {
  for (const char* word : {"stdio", "--foreground", "--directory", kHelperDirectory, "--linger"}) {
    command.emplace_back(word);
  }
  command.push_back(fmt::format("{}ms", linger.count()));
}

Task<Result<Reached>> open_stdio(transport::Loop& loop, Log log, StdioCommand what) {
  CO_ASSIGN_OR_RETURN(auto started, Command::start(loop, std::move(log), what.arguments));
  const std::shared_ptr<Command> command = std::move(started);
  CO_RETURN_IF_ERROR(co_await await_greeting(*command, what));
  std::unique_ptr<transport::FdStream> stream = command->take_stream();
  stream->keep(command);
  Reached reached{std::move(stream), {}};
  reached.explain = [command](const Error& why) { return command->explain(why); };
  co_return reached;
}

}  // namespace farport::router
