// The gate: what stands between a peer and a runtime's socket.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "auth/identity.hpp"
#include "ipc/message.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// Who is at the other end of a connection to the agent.
struct Caller {
  std::string address;
  std::optional<auth::Identity> identity;  ///< None on the insecure loopback listener.
  std::optional<std::string> rule;         ///< The rule that lets the caller in; nothing: not allowed.
};

/// "CN=alice from 10.0.0.3:51000".
[[nodiscard]] std::string describe(const Caller& caller);

/// Why nothing is allowed to a caller without a rule, and what to do about it.
[[nodiscard]] std::string refusal(const Caller& caller);

/// The first message of a diagnostic connection.
struct FirstMessage {
  ipc::Header header;
  std::vector<std::byte> bytes;  ///< Header and payload, as they came.
};

/// Why a command can't be carried whoever asks for it; nothing where it can. A user_events session passes a
/// file descriptor, which no network carries: the runtime would wait for it and answer nobody else meanwhile.
[[nodiscard]] std::optional<std::string> not_supported(const FirstMessage& first);

/// Reads the first message whole, and nothing after it. Only then may a runtime's socket be opened, since
/// half a message there blocks all diagnostics of that runtime. Errors: the peer ended or broke off before
/// the message was whole; or it isn't an IPC message (`code` is EBADMSG).
transport::Task<Result<FirstMessage>> read_first_message(transport::Stream& stream);

}  // namespace farport::router
