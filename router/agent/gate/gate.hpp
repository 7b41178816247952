// The gate: decides which commands a caller may send to a runtime.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/policy.hpp"
#include "base/log.hpp"
#include "router/stream/first_message.hpp"
#include "router/wire/artifact.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// Who is connected to the agent, and what the policy grants them.
struct Caller {
  std::string address;
  std::optional<auth::Identity> identity;  ///< None without TLS, or before the handshake has ended.
  std::optional<auth::Access> access;      ///< None before the handshake has ended.
  std::string acting_for{};  ///< If it is the agent itself: "rule heap"; it has limits of its own, then.

  /// Whether some grant covers this runtime. The agent hides all other runtimes from this caller.
  [[nodiscard]] bool sees(const Runtime& runtime) const;
};

/// The key under which sessions share limits: the names in their certificates. Empty for all callers without
/// TLS.
[[nodiscard]] std::string identity_key(const Caller& caller);
/// The same as a digest, to be written down: by it an artifact is theirs. Empty without an identity.
[[nodiscard]] std::string owner_of(const Caller& caller);

/// For example "CN=alice from 10.0.0.3:51000".
[[nodiscard]] std::string describe(const Caller& caller);

/// The text that tells a caller without any grant why it is refused, and what to do about it.
[[nodiscard]] std::string refusal(const Caller& caller);

/// The properties of a runtime that grants can match.
[[nodiscard]] auth::RuntimeTraits traits_of(const Runtime& runtime);

}  // namespace farport::router

template <>
struct fmt::formatter<farport::router::Caller> : farport::TextFormatter {
  auto format(const farport::router::Caller& caller, fmt::format_context& context) const {
    return write(farport::router::describe(caller), context);
  }
};

namespace farport::router {

/// The refusal for a caller without any grant.
[[nodiscard]] Refusal no_role(const Caller& caller);

/// The gate's answer to a command.
struct Decision {
  bool allowed = false;
  std::string rule;  ///< The grant that allows it.
  std::string role;  ///< The role that the grant gives.
  Refusal refusal;   ///< Set if it is not allowed.
};

/// Decides whether a caller may send a command to a runtime. Always refused: a user_events session, which
/// passes a file descriptor and so can't be carried; a payload that can't be decoded, since some end the
/// application (.NET 10 crashes on an empty CollectTracing); and a dump to a path that the caller names (the
/// API has a request for dumps). A blocking session needs a role that names BlockingSession. Otherwise it is
/// refused as an unknown command, so that tools ask for an ordinary session instead.
[[nodiscard]] Decision authorize(const Caller& caller, const Runtime& runtime, const FirstMessage& first);

/// Decides about a dump that the agent takes for the caller.
[[nodiscard]] Decision authorize_dump(const Caller& caller, const Runtime& runtime);

/// Decides about what the recorder has kept of a runtime: it is as secret as a recording of now.
[[nodiscard]] Decision authorize_recent(const Caller& caller, const Runtime& runtime);

/// What a caller takes when it has the agent take something by the request `action`, such as "trace": the
/// permissions that it takes to have that, as far as the answer contains what this caller may see.
[[nodiscard]] std::vector<std::string> permissions_to_take(std::string_view action, const Caller& caller,
                                                           const Runtime& runtime);

/// Decides about something that was taken of a runtime and kept: whoever gets it needs all permissions that
/// taking it takes.
[[nodiscard]] Decision authorize_artifact(const Caller& caller, const Artifact& artifact);
/// Decides about having the agent keep what is taken of a runtime.
[[nodiscard]] Decision authorize_keeping(const Caller& caller, const Runtime& runtime);
/// Decides about removing something that is kept. Who had the agent keep it may do so, too.
[[nodiscard]] Decision authorize_removal(const Caller& caller, const Artifact& artifact);

/// Decides about a profile, for which the agent has the kernel sample the runtime's threads.
[[nodiscard]] Decision authorize_profile(const Caller& caller, const Runtime& runtime);
/// Whether the profile may contain functions of the kernel. One that a rule takes never does.
[[nodiscard]] bool may_profile_kernel(const Caller& caller, const Runtime& runtime);

}  // namespace farport::router
