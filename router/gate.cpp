#include "router/gate.hpp"

namespace farport::router {

using transport::Io;
using transport::IoStatus;

std::string describe(const Caller& caller) {
  return (caller.identity ? auth::describe(*caller.identity) : "somebody") + " from " + caller.address;
}

std::string refusal(const Caller& caller) {
  return (caller.identity ? auth::describe(*caller.identity) : "somebody") +
         " is not allowed by any rule of this agent; allow it there with --allow-cn, --allow-dns or --allow-uri";
}

transport::Task<Result<FirstMessage>> read_first_message(transport::Stream& stream) {
  FirstMessage first;
  first.bytes.resize(ipc::kHeaderSize);
  const Io head = co_await stream.read_exactly(first.bytes);
  if (head.status == IoStatus::failed) co_return tl::unexpected(stream.error());
  if (head.status == IoStatus::end) {
    co_return fail("read", "the first message",
                   "the connection ended after " + std::to_string(head.bytes) + " of its 20 header bytes");
  }
  const auto header = ipc::decode_header(first.bytes);
  if (!header) co_return tl::unexpected(header.error());
  first.header = *header;
  first.bytes.resize(header->size);
  const Io rest = co_await stream.read_exactly(std::span(first.bytes).subspan(ipc::kHeaderSize));
  if (rest.status == IoStatus::failed) co_return tl::unexpected(stream.error());
  if (rest.status == IoStatus::end) {
    co_return fail("read", "the first message",
                   "the connection ended after " + std::to_string(ipc::kHeaderSize + rest.bytes) + " of its " +
                       std::to_string(header->size) + " bytes");
  }
  co_return first;
}

}  // namespace farport::router
