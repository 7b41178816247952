#include "auth/policy.hpp"

#include <catch2/catch.hpp>

#include "auth/identity.hpp"

namespace farport::auth {
namespace {

Grant grant_to(const std::string& cn, const std::string& role) {
  Grant grant;
  grant.text = "allow-cn=" + cn;
  grant.identity.cn = {cn};
  grant.role = role;
  return grant;
}

Identity named(const std::string& cn) {
  Identity identity;
  identity.common_name = cn;
  return identity;
}

Policy policy_of(PolicyRules rules) {
  auto policy = Policy::make(std::move(rules));
  REQUIRE(policy);
  return std::move(*policy);
}

const RuntimeTraits kOrders{"orders", "/app/orders", 1, 1000};

TEST_CASE("the built-in roles hold each other", "[auth]") {
  const auto roles = make_roles({});
  REQUIRE(roles);
  REQUIRE(roles->size() == 3);
  const Role& observer = (*roles)[0];
  const Role& operators = (*roles)[1];
  const Role& admin = (*roles)[2];
  for (const auto* has : {"ProcessInfo", "ProcessInfo3", "CollectTracing6", "StopTracing", "ResumeRuntime"}) {
    CHECK(observer.has(has));
  }
  for (const auto* has :
       {"GenerateCoreDump3", "ProcessEnvironment", "EnablePerfMap", "DisablePerfMap", "profile"}) {
    CHECK_FALSE(observer.has(has));
    CHECK(operators.has(has));
  }
  for (const auto* has : {"AttachProfiler", "StartupProfiler", "ApplyStartupHook", "SetEnvironmentVariable",
                          "UnknownCommand", "profile-kernel"}) {
    CHECK_FALSE(operators.has(has));
    CHECK(admin.has(has));
  }
  // Every command is somebody's; a blocking session is nobody's.
  for (const std::string_view permission : all_permissions()) {
    CHECK(admin.has(permission) == (permission != kBlockingSession));
  }
}

TEST_CASE("a role of one's own", "[auth]") {
  const auto roles = make_roles({{"dumper", {"tracer"}, {"GenerateCoreDump*"}},
                                 {"tracer", {}, {"CollectTracing*", "StopTracing", "BlockingSession"}}});
  REQUIRE(roles);
  const Role& dumper = roles->back();
  CHECK(dumper.name == "dumper");
  CHECK(dumper.has("GenerateCoreDump"));
  CHECK(dumper.has("GenerateCoreDump3"));
  CHECK(dumper.has("CollectTracing6"));
  CHECK(dumper.has("BlockingSession"));
  CHECK_FALSE(dumper.has("ProcessInfo"));
}

TEST_CASE("a wildcard never gives what is given by name only", "[auth]") {
  const auto roles = make_roles({{"all", {}, {"*"}}});
  REQUIRE(roles);
  CHECK(roles->back().has("SetEnvironmentVariable"));
  CHECK_FALSE(roles->back().has("BlockingSession"));
  CHECK_FALSE(roles->back().has("UnknownCommand"));
  CHECK_FALSE(roles->back().has("profile"));
  CHECK_FALSE(roles->back().has("profile-kernel"));
  const auto profiler = make_roles({{"profiler", {}, {"profile"}}});
  CHECK(profiler->back().has("profile"));
  CHECK_FALSE(profiler->back().has("profile-kernel"));
}

TEST_CASE("roles that can't be meant are errors that name the role", "[auth]") {
  CHECK_FALSE(make_roles({{"admin", {}, {"ProcessInfo"}}}));
  CHECK_FALSE(make_roles({{"x", {}, {"ProcessInfo"}}, {"x", {}, {"ProcessInfo"}}}));
  CHECK_FALSE(make_roles({{"x", {}, {}}}));
  CHECK_FALSE(make_roles({{"x", {"nobody"}, {"ProcessInfo"}}}));
  const auto unknown = make_roles({{"x", {}, {"ProcessInf"}}});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message().find("ProcessInf") != std::string::npos);
  const auto circle = make_roles({{"a", {"b"}, {}}, {"b", {"a"}, {}}});
  REQUIRE_FALSE(circle);
  CHECK(circle.error().why.find("itself") != std::string::npos);
}

TEST_CASE("without a grant nothing is allowed", "[auth]") {
  const Policy policy = policy_of({});
  const Access access = policy.access_of(named("alice"));
  CHECK(access.none());
  CHECK_FALSE(access.sees(kOrders));
  CHECK_FALSE(access.may("ProcessInfo", kOrders).allowed);
  CHECK(policy.loopback_access().none());
}

TEST_CASE("a decision names the grant, or what it would take", "[auth]") {
  const Policy policy = policy_of({{}, {grant_to("alice", ""), grant_to("bob", "operator")}, {}});
  const GrantMatch traced = policy.access_of(named("alice")).may("CollectTracing2", kOrders);
  CHECK(traced.allowed);
  CHECK(traced.rule == "allow-cn=alice");
  CHECK(traced.role == "observer");
  const GrantMatch dumped = policy.access_of(named("alice")).may("GenerateCoreDump3", kOrders);
  CHECK_FALSE(dumped.allowed);
  CHECK(dumped.why ==
        "GenerateCoreDump3 takes the role operator or admin; CN=alice has only observer (allow-cn=alice)");
  CHECK(policy.access_of(named("bob")).may("GenerateCoreDump3", kOrders).allowed);
  CHECK(policy.access_of(named("bob")).may("BlockingSession", kOrders).why.find("none does") !=
        std::string::npos);
}

TEST_CASE("several grants add up, each for its runtimes", "[auth]") {
  Grant narrow = grant_to("alice", "admin");
  narrow.text = "grant 2";
  narrow.runtimes.name = {"orders"};
  const Policy policy = policy_of({{}, {grant_to("alice", "observer"), narrow}, {}});
  const Access access = policy.access_of(named("alice"));
  CHECK(access.may("SetEnvironmentVariable", kOrders).rule == "grant 2");
  CHECK_FALSE(access.may("SetEnvironmentVariable", {"billing", "", 2, 0}).allowed);
  CHECK(access.may("ProcessInfo", {"billing", "", 2, 0}).allowed);
}

TEST_CASE("a runtime that no grant is for is not seen", "[auth]") {
  Grant narrow = grant_to("alice", "admin");
  narrow.runtimes.user = {"1000"};
  const Policy policy = policy_of({{}, {narrow}, {}});
  const Access access = policy.access_of(named("alice"));
  CHECK_FALSE(access.none());
  CHECK(access.sees(kOrders));
  CHECK_FALSE(access.sees({"orders", "/app/orders", 1, 0}));
}

TEST_CASE("a grant of a role that isn't there is an error", "[auth]") {
  const auto policy = Policy::make({{}, {grant_to("alice", "operater")}, {}});
  REQUIRE_FALSE(policy);
  CHECK(policy.error().message().find("operater") != std::string::npos);
  CHECK(policy.error().hint.find("operator") != std::string::npos);
  CHECK_FALSE(Policy::make({{}, {}, "operater"}));
}

TEST_CASE("callers without TLS have the role that is set for them", "[auth]") {
  const Policy policy = policy_of({{}, {}, ""});
  CHECK(policy.loopback_access().may("ProcessInfo", kOrders).allowed);
  CHECK_FALSE(policy.loopback_access().may("GenerateCoreDump3", kOrders).allowed);
}

TEST_CASE("identities as people write them", "[auth]") {
  const auto identity =
      parse_identity("CN=alice,OU=oncall,OU=payments,DNS=a.example,URI=spiffe://acme/x,PIN=abc=");
  REQUIRE(identity);
  CHECK(identity->common_name == "alice");
  CHECK(identity->organizational_units == std::vector<std::string>{"oncall", "payments"});
  CHECK(identity->dns == std::vector<std::string>{"a.example"});
  CHECK(identity->uris == std::vector<std::string>{"spiffe://acme/x"});
  CHECK(identity->spki_pin == "abc=");
  for (const auto* wrong : {"", "alice", "cn=alice", "CN=", "CN=alice,", "CN=alice,X=1"}) {
    CAPTURE(wrong);
    const bool read = parse_identity(wrong).has_value();
    CHECK(read == (std::string_view(wrong) == "CN=alice,"));
  }
}

}  // namespace
}  // namespace farport::auth
