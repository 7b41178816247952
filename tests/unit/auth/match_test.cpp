#include <catch2/catch.hpp>

#include "auth/policy.hpp"

namespace farport::auth {
namespace {

Identity alice() {
  Identity identity;
  identity.common_name = "alice";
  identity.organizational_units = {"oncall", "payments"};
  identity.dns = {"alice.laptops.example", "Alice.Example"};
  identity.uris = {"spiffe://acme.example/ns/prod/sa/oncall"};
  identity.spki_pin = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
  return identity;
}

using Names = std::vector<std::string>;

IdentityFilter filter_of(Names IdentityFilter::*list, Names names) {
  IdentityFilter filter;
  filter.*list = std::move(names);
  return filter;
}

bool matched(Names IdentityFilter::*list, Names names, const Identity& identity) {
  return matches(filter_of(list, std::move(names)), identity);
}

TEST_CASE("one name of a list is enough", "[auth]") {
  CHECK(matched(&IdentityFilter::cn, {"bob", "alice"}, alice()));
  CHECK(matched(&IdentityFilter::ou, {"payments"}, alice()));
  CHECK(matched(&IdentityFilter::dns, {"alice.example"}, alice()));
  CHECK(matched(&IdentityFilter::uri, {"spiffe://acme.example/ns/*/sa/oncall"}, alice()));
  CHECK(matched(&IdentityFilter::pin, {alice().spki_pin}, alice()));
}

TEST_CASE("every list must match", "[auth]") {
  IdentityFilter filter = filter_of(&IdentityFilter::cn, {"alice"});
  filter.ou = {"oncall"};
  CHECK(matches(filter, alice()));
  filter.ou = {"marketing"};
  CHECK_FALSE(matches(filter, alice()));
}

TEST_CASE("an empty filter is for nobody", "[auth]") {
  CHECK_FALSE(matches(IdentityFilter{}, alice()));
  CHECK_FALSE(matches(IdentityFilter{}, Identity{}));
}

TEST_CASE("a common name matches exactly", "[auth]") {
  for (const auto* name : {"Alice", "alic", "alice ", "alice.laptops.example", "*", "a*"}) {
    CAPTURE(name);
    CHECK_FALSE(matched(&IdentityFilter::cn, {name}, alice()));
  }
}

TEST_CASE("a rule of one kind does not match a name of another", "[auth]") {
  Identity identity;
  identity.common_name = "orders.example";
  CHECK_FALSE(matched(&IdentityFilter::dns, {"orders.example"}, identity));
  identity = {};
  identity.dns = {"alice"};
  CHECK_FALSE(matched(&IdentityFilter::cn, {"alice"}, identity));
}

TEST_CASE("a nameless certificate matches what is for all alone", "[auth]") {
  CHECK_FALSE(matched(&IdentityFilter::cn, {"alice"}, Identity{}));
  CHECK_FALSE(matched(&IdentityFilter::uri, {"spiffe://acme.example/**"}, Identity{}));
  CHECK_FALSE(matched(&IdentityFilter::pin, {alice().spki_pin}, Identity{}));
  IdentityFilter all;
  all.all = true;
  CHECK(matches(all, Identity{}));
}

TEST_CASE("a DNS name matches whatever its case, and whole", "[auth]") {
  CHECK(matched(&IdentityFilter::dns, {"ALICE.laptops.EXAMPLE"}, alice()));
  CHECK_FALSE(matched(&IdentityFilter::dns, {"laptops.example"}, alice()));
  CHECK_FALSE(matched(&IdentityFilter::dns, {"alice.laptops.example."}, alice()));
}

TEST_CASE("URI patterns", "[auth]") {
  struct Case {
    const char* pattern;
    const char* uri;
    bool matches;
  };
  const std::vector<Case> cases = {
      {"spiffe://acme.example/ns/prod", "spiffe://acme.example/ns/prod", true},
      {"spiffe://acme.example/ns/prod", "SPIFFE://ACME.example/ns/prod", true},
      {"spiffe://acme.example/ns/prod", "spiffe://acme.example/ns/Prod", false},
      {"spiffe://acme.example/ns/prod", "spiffe://acme.example/ns/prod/x", false},
      {"spiffe://acme.example/ns/prod", "spiffe://acme.example/ns", false},
      {"spiffe://acme.example/ns/prod", "spiffe://acme.example/ns/prod/", false},
      {"spiffe://acme.example/ns/prod", "spiffe://acme.example.evil/ns/prod", false},
      {"spiffe://acme.example/ns/prod", "https://acme.example/ns/prod", false},
      {"spiffe://acme.example/*/prod", "spiffe://acme.example/ns/prod", true},
      {"spiffe://acme.example/*/prod", "spiffe://acme.example/ns/x/prod", false},
      {"spiffe://acme.example/*/prod", "spiffe://acme.example//prod", false},
      {"spiffe://acme.example/*", "spiffe://acme.example/ns", true},
      {"spiffe://acme.example/*", "spiffe://acme.example/ns/prod", false},
      {"spiffe://acme.example/*", "spiffe://acme.example", false},
      {"spiffe://acme.example/*", "spiffe://acme.example/", false},
      {"spiffe://acme.example/*", "spiffe://acme.example/..", false},
      {"spiffe://acme.example/ns/*/prod", "spiffe://acme.example/ns/%2e%2e/prod", false},
      {"spiffe://acme.example/ns/*", "spiffe://acme.example/ns/a%2fb", false},
      {"spiffe://acme.example/ns/*", "spiffe://acme.example/ns/a\\b", false},
      {"spiffe://acme.example/ns/**", "spiffe://acme.example/ns/%2E%2E/admin", false},
      {"spiffe://acme.example/a%20b", "spiffe://acme.example/a%20b", false},
      {"spiffe://acme.example/ns/**", "spiffe://acme.example/ns", true},
      {"spiffe://acme.example/ns/**", "spiffe://acme.example/ns/prod", true},
      {"spiffe://acme.example/ns/**", "spiffe://acme.example/ns/prod/sa/x", true},
      {"spiffe://acme.example/ns/**", "spiffe://acme.example/nsx/prod", false},
      {"spiffe://acme.example/ns/**", "spiffe://acme.example/ns/../admin", false},
      {"spiffe://acme.example/ns/**", "spiffe://acme.example/ns/prod?x", false},
      {"spiffe://acme.example/ns/**", "spiffe://acme.example/ns/prod#x", false},
      {"spiffe://acme.example/**", "spiffe://acme.example", true},
      {"spiffe://acme.example/**", "spiffe://acme.example@evil.example/x", false},
      {"spiffe://acme.example/**", "spiffe://evil.example/spiffe://acme.example/x", false},
      {"spiffe://acme.example", "spiffe://acme.example", true},
      {"spiffe://acme.example", "spiffe://acme.example/x", false},
      {"https://acme.example:8443/x", "https://acme.example:8443/x", true},
  };
  for (const auto& each : cases) {
    CAPTURE(each.pattern, each.uri);
    CHECK(uri_matches(each.pattern, each.uri) == each.matches);
    Identity identity;
    identity.uris = {"spiffe://other.example/x", each.uri};
    CHECK(matched(&IdentityFilter::uri, {each.pattern}, identity) == each.matches);
  }
}

TEST_CASE("rules that could never be meant are errors that name the rule", "[auth]") {
  const auto* pattern =
      GENERATE("", "acme.example/ns", "spiffe://", "://acme.example", "spiffe:///ns", "spiffe://*/ns",
               "spiffe://*.example/ns", "*://acme.example/ns", "spiffe://acme.example/ns/pro*",
               "spiffe://acme.example/**/sa", "spiffe://acme.example/***", "spiffe://acme.example/ns//sa",
               "spiffe://acme.example/ns/", "spiffe://acme.example/../x", "spiffe://acme.example/x?y");
  CAPTURE(pattern);
  const auto checked = check_filter(filter_of(&IdentityFilter::uri, {pattern}), "allow-uri");
  REQUIRE_FALSE(checked);
  CHECK(checked.error().what == "use allow-uri");
  CHECK(checked.error().on == pattern);
}

TEST_CASE("empty names, DNS wildcards and what is no pin are errors", "[auth]") {
  CHECK_FALSE(check_filter(IdentityFilter{}, "grant 1"));
  CHECK_FALSE(check_filter(filter_of(&IdentityFilter::cn, {""}), "grant 1"));
  CHECK_FALSE(check_filter(filter_of(&IdentityFilter::ou, {""}), "grant 1"));
  CHECK_FALSE(check_filter(filter_of(&IdentityFilter::dns, {""}), "grant 1"));
  CHECK_FALSE(check_filter(filter_of(&IdentityFilter::dns, {"*.example"}), "grant 1"));
  CHECK_FALSE(check_filter(filter_of(&IdentityFilter::pin, {"abc"}), "grant 1"));
}

TEST_CASE("which runtimes a filter is for", "[auth]") {
  const RuntimeTraits orders{"orders", "/app/orders --port 80", 7, 1000};
  CHECK(matches(RuntimeFilter{}, orders));
  CHECK(matches({{"ord*"}, {}, {}, {}}, orders));
  CHECK_FALSE(matches({{"Ord*"}, {}, {}, {}}, orders));
  CHECK(matches({{}, {"* --port 80"}, {}, {}}, orders));
  CHECK(matches({{}, {}, {1, 7}, {}}, orders));
  CHECK_FALSE(matches({{}, {}, {1}, {}}, orders));
  CHECK(matches({{}, {}, {}, {"1000"}}, orders));
  CHECK_FALSE(matches({{}, {}, {}, {"0"}}, orders));
  CHECK_FALSE(matches({{"orders"}, {}, {8}, {}}, orders));
}

TEST_CASE("a local user matches a rule for local users, and no other rule", "[auth]") {
  const Identity user = identity_of(uid_t{1000});
  CHECK(matched(&IdentityFilter::local, {"1", "1000"}, user));
  CHECK_FALSE(matched(&IdentityFilter::local, {"1001"}, user));
  CHECK_FALSE(matched(&IdentityFilter::local, {"0"}, alice()));
  CHECK_FALSE(matched(&IdentityFilter::cn, {""}, user));
  CHECK_FALSE(matched(&IdentityFilter::pin, {""}, user));
  IdentityFilter all;
  all.all = true;
  CHECK_FALSE(matches(all, user));
  CHECK(matches(all, alice()));
}

TEST_CASE("a certificate matches no rule for local users, whatever else the rule says", "[auth]") {
  IdentityFilter filter = filter_of(&IdentityFilter::local, {"1000"});
  filter.cn = {"alice"};
  CHECK_FALSE(matches(filter, alice()));
  const auto checked = check_filter(filter, "grant 1");
  REQUIRE_FALSE(checked.has_value());
  CHECK_THAT(checked.error().message(), Catch::Contains("a local user has no certificate"));
}

TEST_CASE("users become numbers once", "[auth]") {
  RuntimeFilter filter;
  filter.user = {"root", "1000"};
  REQUIRE(resolve_users(filter.user, "grant 1"));
  CHECK(filter.user == Names{"0", "1000"});
  filter.user = {"nobody-of-this-name"};
  CHECK_FALSE(resolve_users(filter.user, "grant 1"));
}

}  // namespace
}  // namespace farport::auth
