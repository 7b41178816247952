#include "router/stream/first_message.hpp"

#include <cerrno>

namespace farport::router {

using transport::Io;
using transport::IoStatus;

namespace {

/// Smaller messages, which are nearly all, are not charged to the budget.
constexpr std::uint32_t kWorthCounting = 4096;

}  // namespace

transport::Task<Result<FirstMessage>> read_first_message(transport::Stream& stream, std::uint64_t max_size,
                                                         transport::BufferBudget::LazyReservation* counted) {
  FirstMessage first;
  first.bytes.resize(ipc::kHeaderSize);
  const Io head = co_await stream.read_exactly(first.bytes);
  if (head.status == IoStatus::failed) co_return tl::unexpected(stream.error());
  if (head.status == IoStatus::end) {
    co_return fail("read", "the first message",
                   "the connection ended after " + std::to_string(head.bytes) + " of its 20 header bytes");
  }
  const auto header = ipc::decode_header(first.bytes);
  if (!header) {
    Error malformed = header.error();
    malformed.cause = Cause(EBADMSG);
    co_return tl::unexpected(malformed);
  }
  if (header->size > max_size) {
    const Error large{"read",
                      "the first message",
                      "it has " + std::to_string(header->size) +
                          " bytes, and limits.message_size of the agent is " + std::to_string(max_size),
                      {},
                      Cause(EMSGSIZE)};
    co_return tl::unexpected(large);
  }
  first.header = *header;
  if (counted != nullptr && header->size > kWorthCounting) counted->update(header->size);
  first.bytes.resize(header->size);
  const Io rest = co_await stream.read_exactly(std::span(first.bytes).subspan(ipc::kHeaderSize));
  if (rest.status == IoStatus::failed) co_return tl::unexpected(stream.error());
  if (rest.status == IoStatus::end) {
    co_return fail("read", "the first message",
                   "the connection ended after " + std::to_string(ipc::kHeaderSize + rest.bytes) +
                       " of its " + std::to_string(header->size) + " bytes");
  }
  co_return first;
}

}  // namespace farport::router
