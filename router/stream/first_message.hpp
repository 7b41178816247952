// The first message of a diagnostic connection: the command.
#pragma once

#include <cstdint>
#include <vector>

#include "ipc/message.hpp"
#include "transport/party.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// The first message of a diagnostic connection.
struct FirstMessage {
  ipc::Header header;
  std::vector<std::byte> bytes;  ///< Header and payload, as they came.

  [[nodiscard]] ipc::Command command() const { return header.command(); }
  [[nodiscard]] ipc::BytesView payload() const { return std::span(bytes).subspan(ipc::kHeaderSize); }
};

/// Reads the first message whole, and nothing after it. Only then may a runtime's socket be opened, since
/// half a message there blocks all diagnostics of that runtime. Errors: the peer ended or broke off before
/// the message was whole; it isn't an IPC message (`cause` is EBADMSG); or it is larger than `max_size` bytes
/// (EMSGSIZE), header included. `counted`, which must outlive the task, counts a large one from its header
/// on.
transport::Task<Result<FirstMessage>> read_first_message(
    transport::Stream& stream, std::uint64_t max_size = ipc::kMaxMessageSize,
    transport::BufferBudget::LateHolding* counted = nullptr);

}  // namespace farport::router
