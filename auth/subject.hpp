// Identities as people write them.
#pragma once

#include <string_view>

#include "auth/identity.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// "CN=alice,OU=oncall,DNS=laptop.example,URI=spiffe://acme.example/alice,PIN=…": what a certificate with
/// these names would be taken for; "LOCAL=1000": a user of the agent's host. Errors name the part that can't
/// be read.
[[nodiscard]] Result<Identity> parse_identity(std::string_view text);

}  // namespace farport::auth
