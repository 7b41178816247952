#include "router/reach/capture.hpp"

#include <array>
#include <tuple>

#include <fmt/format.h>

#include "router/reach/command.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

constexpr transport::Milliseconds kLimit{60'000};
/// What a thousand pods take in JSON, and more.
constexpr std::size_t kMostOutput = 32ULL << 20;
constexpr std::size_t kPart = 16 * 1024;

Task<Result<std::string>> run_to_end(Command& command, CommandInput input) {
  transport::Stream& stream = command.stream();
  // One that does not read has no need of it, and says itself what is wrong.
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
    if (output.size() > kMostOutput) co_return fail("run", command.name(), "it prints without end");
  }
  const std::optional<int> code = co_await command.exit_code();
  if (code == 0) co_return output;
  Error why = co_await command.ended();
  co_return tl::unexpected(std::move(why));
}

}  // namespace

Task<Result<std::string>> capture(transport::Loop& loop, std::vector<std::string> arguments,
                                  CommandInput input) {
  auto started = Command::start(loop, make_silent_log(), std::move(arguments));
  if (!started) co_return tl::unexpected(started.error());
  const std::shared_ptr<Command> command = std::move(*started);
  auto output = co_await with_deadline(loop, run_to_end(*command, std::move(input)), kLimit);
  if (!output)
    co_return fail("run", command->name(),
                   fmt::format("{} has not ended within {} s", command->name(), kLimit.count() / 1000));
  co_return std::move(*output);
}

}  // namespace farport::router
