// The short form of grants: --allow-cn alice=operator.
#pragma once

#include <string>

#include "auth/rules.hpp"

namespace farport::config {

enum class GrantKind { cn, dns, uri, ip };

/// A grant for all runtimes from "NAME" or "NAME=ROLE".
[[nodiscard]] auth::Grant short_grant(GrantKind kind, const std::string& text);
/// A grant for every certificate of the CA. An empty role is the default one.
[[nodiscard]] auth::Grant allow_all(const std::string& role);

}  // namespace farport::config
