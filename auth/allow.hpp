// AllowList: which identities may connect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "auth/identity.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// The --allow-* rules as given. One that matches is enough.
struct AllowRules {
  std::vector<std::string> common_names;  ///< Compared exactly.
  std::vector<std::string> dns;           ///< Compared exactly but for case; no wildcards.
  /// "scheme://host/path": scheme and host literal and without regard to case, the path exact, where a
  /// segment "*" stands for any one segment and a last segment "**" for any rest, also an empty one.
  std::vector<std::string> uris;
  bool all = false;  ///< Every certificate of the CA.

  [[nodiscard]] bool empty() const { return common_names.empty() && dns.empty() && uris.empty() && !all; }
};

class AllowList {
 public:
  /// Checks the rules. Errors name the rule and what is wrong with it. Without rules: nobody is allowed.
  [[nodiscard]] static Result<AllowList> make(AllowRules rules);

  /// The first rule that matches, as it would be written: "allow-cn=alice"; nothing if none does.
  [[nodiscard]] std::optional<std::string> match(const Identity& identity) const;

 private:
  explicit AllowList(AllowRules rules) : rules_(std::move(rules)) {}

  AllowRules rules_;
};

/// Whether a URI matches a pattern of AllowRules::uris. A URI with a query, a fragment, or a segment that is
/// empty, "." or ".." matches nothing: SPIFFE IDs have none (SPIFFE-ID section 2), and nobody should depend
/// on how they are normalised.
[[nodiscard]] bool uri_matches(std::string_view pattern, std::string_view uri);

}  // namespace farport::auth
