#include "router/gate.hpp"

#include <cerrno>

#include "ipc/event_pipe.hpp"

namespace farport::router {

using transport::Io;
using transport::IoStatus;

std::string describe(const Caller& caller) {
  return (caller.identity ? auth::describe(*caller.identity) : "somebody") + " from " + caller.address;
}

std::string refusal(const Caller& caller) {
  return (caller.identity ? auth::describe(*caller.identity) : "somebody") +
         " is not allowed by any rule of this agent; allow it there with --allow-cn, --allow-dns or "
         "--allow-uri";
}

std::optional<std::string> not_supported(const FirstMessage& first) {
  const ipc::Command command = first.header.command();
  if (command != ipc::kCollectTracing5 && command != ipc::kCollectTracing6) return std::nullopt;
  // Read by itself, so that nothing wrong further on can hide it.
  ipc::Reader payload(std::span(first.bytes).subspan(ipc::kHeaderSize), "the session type");
  if (payload.u32() != static_cast<std::uint32_t>(ipc::SessionType::user_events)) return std::nullopt;
  return "user_events sessions need a file descriptor, which can't cross a network; use a streaming session";
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
  if (!header) {
    Error malformed = header.error();
    malformed.code = EBADMSG;
    co_return tl::unexpected(malformed);
  }
  first.header = *header;
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
