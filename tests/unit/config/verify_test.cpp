// Grants by address, and which agent a remote is.
#include <catch2/catch.hpp>

#include "auth/policy.hpp"
#include "config/file.hpp"
#include "config/resolve.hpp"
#include "config/values.hpp"
#include "tests/unit/auth/fixtures.hpp"

using namespace farport::config;
using farport::auth::Identity;
using farport::auth::Policy;
using farport::auth::test::must;
using farport::auth::test::TemporaryDirectory;

namespace {

using Names = std::vector<std::string>;

Flags mirror_flags() {
  Flags flags;
  flags.given["tls-cert"] = {"c"};
  flags.given["tls-key"] = {"k"};
  flags.given["tls-ca"] = {"a"};
  flags.remotes = {"orders:9000"};
  return flags;
}

std::string first_error(const std::string& text) {
  const auto file = parse_file(text, "/etc/farport.toml");
  return file ? std::string() : file.error().front();
}

}  // namespace

TEST_CASE("a certificate's address gives a role, however the rule writes it") {
  Flags flags = mirror_flags();
  flags.given["listen"] = {"127.0.0.1:9000"};
  flags.given["allow-ip"] = {"10.0.0.2=operator", "FD00:0:0::2"};
  const auto settings = resolve_serve(flags);
  REQUIRE(settings.has_value());
  const Policy policy = must(Policy::make(settings->policy));
  const auto role_of = [&](const std::string& ip) {
    Identity identity;
    identity.ips = {"192.0.2.1", ip};
    const auto access = policy.access_of(identity);
    return access.none() ? std::string() : access.grants().front()->role;
  };
  CHECK(role_of("10.0.0.2") == "operator");
  CHECK(role_of("fd00::2") == "observer");
  CHECK(role_of("10.0.0.20").empty());
  CHECK(role_of("::ffff:10.0.0.2").empty());
}

TEST_CASE("a file grants by address, in both forms") {
  const auto file = parse_file(
      "[allow]\nip = \"10.0.0.2=admin\"\n[[grants]]\nip = [\"fd00::2\"]\nrole = \"operator\"\n", "/f");
  REQUIRE(file.has_value());
  REQUIRE(file->grants.size() == 2);
  CHECK(file->grants[0].text == "allow-ip=10.0.0.2=admin");
  CHECK(file->grants[1].identity.ip == Names{"fd00::2"});
}

TEST_CASE("what is no address is no grant") {
  for (const auto* text : {"10.0.0", "10.0.0.0/8", "agent.example", "[fd00::2]", "fd00::2%eth0", ""}) {
    CAPTURE(text);
    farport::auth::PolicyRules rules;
    rules.grants.push_back(short_grant(GrantKind::ip, text));
    CHECK_FALSE(Policy::make(rules).has_value());
  }
}

TEST_CASE("a profile says which agent is meant, and flags say it anew") {
  const TemporaryDirectory directory;
  Flags flags = mirror_flags();
  flags.given["config"] = {
      directory.file("config.toml",
                     "[remotes.shop]\naddress = \"orders:9000\"\n"
                     "verify = { cn = \"orders-agent\", uri = [\"spiffe://acme/a\"], ip = \"::1\" }\n")};
  flags.remotes = {"shop", "billing:9000"};
  auto settings = resolve_connect(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->remotes[0].verify.cn == Names{"orders-agent"});
  CHECK(settings->remotes[0].verify.uri == Names{"spiffe://acme/a"});
  CHECK(settings->remotes[0].verify.ip == Names{"::1"});
  CHECK(settings->remotes[1].verify.empty());

  flags.given["verify-cn"] = {"other-agent"};
  flags.given["verify-pin"] = {"pin"};
  settings = resolve_connect(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->remotes[0].verify.cn == Names{"other-agent"});
  CHECK(settings->remotes[0].verify.uri == Names{"spiffe://acme/a"});
  CHECK(settings->remotes[1].verify.pin == Names{"pin"});
}

TEST_CASE("a profile that asks nothing of its agent is a mistake") {
  const std::string profile = "[remotes.shop]\naddress = \"orders:9000\"\n";
  CHECK_THAT(first_error(profile + "verify = { cn = [] }\n"), Catch::Contains("this asks for nothing"));
  CHECK_THAT(first_error(profile + "verify = {}\n"), Catch::Contains("this asks for nothing"));
  CHECK_THAT(first_error(profile + "verify = { name = \"x\" }\n"), Catch::Contains("unknown key \"name\""));
  CHECK_THAT(first_error(profile + "verify = \"x\"\n"), Catch::Contains("this must be a table"));
}
