// The first message of a diagnostic connection: the command.
#pragma once

#include <cstdint>
#include <vector>

#include "ipc/message.hpp"
#include "transport/party.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// The command, as it came.
struct FirstMessage {
  ipc::Header header;
  std::vector<std::byte> bytes;  ///< The header and the payload.

  [[nodiscard]] ipc::Command command() const { return header.command(); }
  [[nodiscard]] ipc::BytesView payload() const { return std::span(bytes).subspan(ipc::kHeaderSize); }
};

/// Reads the first message completely, and nothing after it. Open a runtime's socket only afterwards, since
/// half a message there blocks all diagnostics of that runtime. `max_size` is in bytes and includes the
/// header. `counted` must outlive the task; it charges a large message as soon as its header has come.
/// Errors: the peer ended or broke off too early; it is no IPC message (`cause` is EBADMSG); or it is too
/// large (EMSGSIZE).
transport::Task<Result<FirstMessage>> read_first_message(
    transport::Stream& stream, std::uint64_t max_size = ipc::kMaxMessageSize,
    transport::BufferBudget::LazyReservation* counted = nullptr);

}  // namespace farport::router
