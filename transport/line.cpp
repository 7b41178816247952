#include "transport/line.hpp"

namespace farport::transport {

// One task for all lines and their bytes: a task for each would take stack that a flood of them has not.
Task<tl::expected<std::string, NoLine>> read_to_line(Stream& stream, LineFilter wanted, std::size_t most) {
  std::string line;
  for (std::size_t read = 0; read < most;) {
    std::byte next{};
    // Byte by byte, since what is read too much can't be put back.
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
