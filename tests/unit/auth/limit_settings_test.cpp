#include "auth/limit_settings.hpp"

#include <set>

#include <catch2/catch.hpp>

using namespace farport::auth;

TEST_CASE("every member of the limits is declared, once", "[auth]") {
  // Each member has eight bytes.
  CHECK(std::size(kLimits) * sizeof(std::uint64_t) == sizeof(LimitSettings));
  std::set<std::string_view> names;
  for (const Limit& limit : kLimits) names.insert(limit.name());
  CHECK(names.size() == std::size(kLimits));
}

TEST_CASE("a limit is found by its member", "[auth]") {
  CHECK(limit_of(&LimitSettings::sessions).name() == "sessions");
  CHECK(limit_of(&LimitSettings::buffered_bytes).key == "limits.buffered_bytes");
  CHECK(limit_of(&LimitSettings::idle_timeout).name() == "idle_timeout");
}
