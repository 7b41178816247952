// The gate: what stands between a caller and a runtime's socket.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ipc/message.hpp"
#include "router/agent/gate/caller.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// The first message of a diagnostic connection.
struct FirstMessage {
  ipc::Header header;
  std::vector<std::byte> bytes;  ///< Header and payload, as they came.

  [[nodiscard]] ipc::Command command() const { return header.command(); }
  [[nodiscard]] ipc::BytesView payload() const { return std::span(bytes).subspan(ipc::kHeaderSize); }
};

/// Why something was refused, for a person, for HTTP and for a tool.
struct Refusal {
  int status = 0;             ///< Of HTTP.
  std::uint32_t hresult = 0;  ///< Of the IPC error that a tool gets.
  std::string why;
  int retry_after{};  ///< In seconds; 0: there is nothing to wait for.
  /// The same to the millisecond, where nothing but time must pass; nothing was done then.
  transport::Milliseconds retry_after_exactly{};
};

/// To a caller that has no grant at all.
[[nodiscard]] Refusal no_role(const Caller& caller);

/// What the gate says to a command.
struct Ruling {
  bool allowed = false;
  std::string rule;  ///< The grant that allows it.
  std::string role;  ///< That grant's role.
  Refusal refusal;   ///< Where it is not allowed.
};

/// Decides whether a caller's command may go to a runtime. Never: what can't be carried (a user_events
/// session, which passes a file descriptor), a payload that can't be read (some end the application: .NET 10
/// crashes on an empty CollectTracing), and a dump to a path of the caller's (the API has a request for
/// dumps). A blocking session only where a role names it: it is refused as an unknown command, upon which
/// tools ask for an ordinary one.
[[nodiscard]] Ruling rule_on(const Caller& caller, const Runtime& runtime, const FirstMessage& first);

/// The same for a dump that the agent takes for the caller.
[[nodiscard]] Ruling rule_on_dump(const Caller& caller, const Runtime& runtime);

/// Reads the first message whole, and nothing after it. Only then may a runtime's socket be opened, since
/// half a message there blocks all diagnostics of that runtime. Errors: the peer ended or broke off before
/// the message was whole; it isn't an IPC message (`code` is EBADMSG); or it is larger than `max_size` bytes
/// (EMSGSIZE), header included.
transport::Task<Result<FirstMessage>> read_first_message(transport::Stream& stream,
                                                         std::uint64_t max_size = ipc::kMaxMessageSize);

}  // namespace farport::router
