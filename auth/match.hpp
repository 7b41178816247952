// Whether a certificate, or a runtime, is one that a grant is for.
#pragma once

#include <string_view>

#include <sys/types.h>

#include "auth/identity.hpp"
#include "auth/rules.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// Checks that a filter can be meant: names that are not empty, no wildcards where there are none, URI
/// patterns and pins in their form. `rule` stands for it in errors.
[[nodiscard]] Result<void> check_filter(const IdentityFilter& filter, const std::string& rule);

/// Whether the filter, with its users as numbers, is for this identity. An empty filter is for nobody.
[[nodiscard]] bool matches(const IdentityFilter& filter, const Identity& identity);

/// Whether a URI matches a pattern: "scheme://host/path", scheme and host literal and without regard to case,
/// the path exact, where a segment "*" stands for any one segment and a last segment "**" for any rest, also
/// an empty one. A URI with a query, a fragment, an escape (%2F), or a segment that is empty, "." or ".."
/// matches nothing: SPIFFE IDs have none (SPIFFE-ID section 2), and nobody should depend on how they are
/// normalised.
[[nodiscard]] bool uri_matches(std::string_view pattern, std::string_view uri);

/// What rules can know of a runtime.
struct RuntimeTraits {
  std::string_view name;
  std::string_view command_line;
  std::uint64_t pid = 0;
  uid_t user = 0;
};

/// Makes users, by name or number, numbers. Errors name the one that isn't known on this host.
[[nodiscard]] Result<void> resolve_users(std::vector<std::string>& users, const std::string& rule);

/// Whether the filter, with its users as numbers, is for this runtime. An empty filter is for all.
[[nodiscard]] bool matches(const RuntimeFilter& filter, const RuntimeTraits& runtime);

}  // namespace farport::auth
