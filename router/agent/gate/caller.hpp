// Caller: who is at the other end of a connection to the agent.
#pragma once

#include <optional>
#include <string>

#include "auth/policy.hpp"
#include "base/log.hpp"
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
