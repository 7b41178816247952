// Certificates for one agent and one caller, for as long as both run.
#pragma once

#include <string>

#include "auth/credentials.hpp"

namespace farport::cli {

/// What both sides show and trust.
struct Sides {
  auth::Credentials agent;
  auth::Credentials guest;
};

/// Of a CA whose key nobody has afterwards: it has issued these two certificates and will never issue
/// another.
[[nodiscard]] Result<Sides> make_sides(const std::string& agent_name, const std::string& guest_name);

}  // namespace farport::cli
