// The gate: what stands between a caller and a runtime's socket.
#pragma once

#include <optional>
#include <string>

#include "auth/policy.hpp"
#include "base/log.hpp"
#include "router/stream/first_message.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

struct Caller {
  std::string address;
  std::optional<auth::Identity> identity;  ///< None without TLS, or before the handshake has ended.
  std::optional<auth::Access> access;      ///< None before the handshake has ended.

  /// Whether some grant is for this runtime; others are not there for this caller.
  [[nodiscard]] bool sees(const Runtime& runtime) const;
};

/// "CN=alice from 10.0.0.3:51000".
[[nodiscard]] std::string describe(const Caller& caller);

/// Why nothing is allowed to a caller without a grant, and what to do about it.
[[nodiscard]] std::string refusal(const Caller& caller);

/// What grants can ask of a runtime.
[[nodiscard]] auth::RuntimeTraits traits_of(const Runtime& runtime);

}  // namespace farport::router

template <>
struct fmt::formatter<farport::router::Caller> : farport::TextFormatter {
  auto format(const farport::router::Caller& caller, fmt::format_context& context) const {
    return write(farport::router::describe(caller), context);
  }
};

namespace farport::router {

/// To a caller that has no grant at all.
[[nodiscard]] Refusal no_role(const Caller& caller);

/// What the gate says to a command.
struct Decision {
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
[[nodiscard]] Decision authorize(const Caller& caller, const Runtime& runtime, const FirstMessage& first);

/// The same for a dump that the agent takes for the caller.
[[nodiscard]] Decision authorize_dump(const Caller& caller, const Runtime& runtime);

/// The same for samples that the agent has the kernel take of the runtime's threads.
[[nodiscard]] Decision authorize_profile(const Caller& caller, const Runtime& runtime);
/// Whether its profile may have the kernel's own functions.
[[nodiscard]] bool may_profile_kernel(const Caller& caller, const Runtime& runtime);

}  // namespace farport::router
