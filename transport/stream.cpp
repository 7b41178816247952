#include "transport/stream.hpp"

#include <vector>

#include "transport/share.hpp"

namespace farport::transport {

Task<Io> Stream::read(std::span<std::byte> into) {
  for (;;) {
    const Io io = try_read(into);
    if (io.status != IoStatus::would_block) co_return io;
    co_await readable();
  }
}

Task<Io> Stream::read_exactly(std::span<std::byte> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const Io io = try_read(into.subspan(filled));
    filled += io.bytes;
    if (io.status == IoStatus::would_block) {
      co_await readable();
    } else if (io.status != IoStatus::ok) {
      co_return Io{io.status, filled};
    }
  }
  co_return Io{IoStatus::ok, filled};
}

Task<void> Stream::discard() {
  constexpr std::size_t kPart = 65536;
  std::vector<std::byte> part(kPart);
  TurnBudget budget(loop());
  for (IoStatus status = IoStatus::ok; status == IoStatus::ok;) {
    co_await budget.yield_if_used_up();
    const Io io = co_await read(part);
    status = io.status;
  }
}

// One task for all lines and their bytes: a task for each byte could use up the stack in a flood of them.
Task<tl::expected<std::string, NoLine>> read_to_line(Stream& stream, LineFilter wanted, std::size_t most) {
  std::string line;
  for (std::size_t read = 0; read < most;) {
    std::byte next{};
    // Byte by byte, since a byte read too far can't be put back.
    const Io got = stream.try_read(std::span(&next, 1));
    if (got.status == IoStatus::would_block) {
      co_await stream.readable();
      continue;
    }
    if (got.status != IoStatus::ok) co_return tl::unexpected(NoLine::ended);
    ++read;
    if (static_cast<char>(next) != '\n') {
      line += static_cast<char>(next);
    } else if (wanted(line)) {
      co_return line;
    } else {
      line.clear();
    }
  }
  co_return tl::unexpected(NoLine::too_long);
}

Task<tl::expected<std::string, NoLine>> read_line(Stream& stream, std::size_t most) {
  return read_to_line(
      stream, [](std::string_view) { return true; }, most);
}

}  // namespace farport::transport
