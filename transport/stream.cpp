#include "transport/stream.hpp"

#include <vector>

#include "transport/turn_budget.hpp"

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
    co_await budget.give_way();
    const Io io = co_await read(part);
    status = io.status;
  }
}

}  // namespace farport::transport
