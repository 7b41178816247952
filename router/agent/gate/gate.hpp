// The gate: what stands between a caller and a runtime's socket.
#pragma once

#include <string>

#include "router/agent/gate/caller.hpp"
#include "router/stream/first_message.hpp"
#include "router/wire/http_status.hpp"

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
