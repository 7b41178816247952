#include "router/wanted/method_events.hpp"

#include "nettrace/reader.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kPieceBytes = 32 * 1024;

}  // namespace

transport::Task<Result<void>> read_method_events(transport::Stream& from, events::MethodTable& to) {
  MethodEvents handler(to);
  nettrace::Reader reader(handler);
  std::vector<std::byte> piece(kPieceBytes);
  for (;;) {
    const transport::Io got = co_await from.read(piece);
    if (got.status == transport::IoStatus::failed) co_return tl::unexpected(from.error());
    if (got.status == transport::IoStatus::end) co_return reader.finish();
    const Result<void> fed = reader.feed(std::span(piece).first(got.bytes));
    if (!fed) co_return fed;
  }
}

}  // namespace farport::router
