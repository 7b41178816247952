#include <catch2/catch.hpp>

#include "auth/allow.hpp"

namespace farport::auth {
namespace {

Identity alice() {
  Identity identity;
  identity.common_name = "alice";
  identity.dns = {"alice.laptops.example", "Alice.Example"};
  identity.uris = {"spiffe://acme.example/ns/prod/sa/oncall"};
  return identity;
}

std::optional<std::string> matched(AllowRules rules, const Identity& identity) {
  const auto list = AllowList::make(std::move(rules));
  REQUIRE(list);
  return list->match(identity);
}

TEST_CASE("the rule that matched is named", "[auth]") {
  CHECK(matched({{"bob", "alice"}, {}, {}, false}, alice()) == "allow-cn=alice");
  CHECK(matched({{}, {"alice.example"}, {}, false}, alice()) == "allow-dns=alice.example");
  CHECK(matched({{}, {}, {"spiffe://acme.example/ns/*/sa/oncall"}, false}, alice()) ==
        "allow-uri=spiffe://acme.example/ns/*/sa/oncall");
  CHECK(matched({{}, {}, {}, true}, alice()) == "allow-all");
  CHECK(matched({{"alice"}, {}, {}, true}, alice()) == "allow-cn=alice");
}

TEST_CASE("without rules nobody is allowed", "[auth]") {
  CHECK(AllowRules{}.empty());
  CHECK_FALSE(AllowRules{{}, {}, {}, true}.empty());
  CHECK_FALSE(matched({}, alice()));
}

TEST_CASE("a common name matches exactly", "[auth]") {
  for (const auto* name : {"Alice", "alic", "alice ", "alice.laptops.example", "*", "a*"}) {
    CAPTURE(name);
    CHECK_FALSE(matched({{name}, {}, {}, false}, alice()));
  }
}

TEST_CASE("a rule of one kind does not match a name of another", "[auth]") {
  Identity identity;
  identity.common_name = "orders.example";
  CHECK_FALSE(matched({{}, {"orders.example"}, {}, false}, identity));
  identity = {};
  identity.dns = {"alice"};
  CHECK_FALSE(matched({{"alice"}, {}, {}, false}, identity));
}

TEST_CASE("a nameless certificate matches allow-all alone", "[auth]") {
  CHECK_FALSE(matched({{"alice"}, {"alice"}, {"spiffe://acme.example/**"}, false}, Identity{}));
  CHECK(matched({{}, {}, {}, true}, Identity{}) == "allow-all");
}

TEST_CASE("a DNS name matches whatever its case, and whole", "[auth]") {
  CHECK(matched({{}, {"ALICE.laptops.EXAMPLE"}, {}, false}, alice()));
  CHECK_FALSE(matched({{}, {"laptops.example"}, {}, false}, alice()));
  CHECK_FALSE(matched({{}, {"alice.laptops.example."}, {}, false}, alice()));
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
    CHECK(matched({{}, {}, {each.pattern}, false}, identity).has_value() == each.matches);
  }
}

TEST_CASE("rules that could never be meant are errors that name the rule", "[auth]") {
  const auto* pattern =
      GENERATE("", "acme.example/ns", "spiffe://", "://acme.example", "spiffe:///ns", "spiffe://*/ns",
               "spiffe://*.example/ns", "*://acme.example/ns", "spiffe://acme.example/ns/pro*",
               "spiffe://acme.example/**/sa", "spiffe://acme.example/***", "spiffe://acme.example/ns//sa",
               "spiffe://acme.example/ns/", "spiffe://acme.example/../x", "spiffe://acme.example/x?y");
  CAPTURE(pattern);
  const auto list = AllowList::make({{}, {}, {pattern}, false});
  REQUIRE_FALSE(list);
  CHECK(list.error().what == "use allow-uri");
  CHECK(list.error().on == pattern);
}

TEST_CASE("empty names and DNS wildcards are errors", "[auth]") {
  CHECK_FALSE(AllowList::make({{""}, {}, {}, false}));
  CHECK_FALSE(AllowList::make({{}, {""}, {}, false}));
  CHECK_FALSE(AllowList::make({{}, {"*.example"}, {}, false}));
}

}  // namespace
}  // namespace farport::auth
