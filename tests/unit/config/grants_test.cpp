// Roles, grants, the audit and dumps: as the file says them, and as flags and variables do.
#include <catch2/catch.hpp>

#include "config/file.hpp"
#include "config/resolve.hpp"
#include "config/values.hpp"
#include "tests/unit/auth/fixtures.hpp"
#include "tests/unit/config/wrong_with.hpp"

using namespace farport::config;
using farport::auth::Grant;
using farport::auth::test::TemporaryDirectory;
using Words = std::vector<std::string>;

namespace {

Configuration file_of(const std::string& text) {
  auto file = parse_file(text, "/etc/farport/agent.toml");
  REQUIRE(file.has_value());
  return std::move(*file);
}

Flags agent_flags() {
  Flags flags;
  flags.given["listen"] = {"127.0.0.1:9000"};
  flags.given["tls-cert"] = {"c"};
  flags.given["tls-key"] = {"k"};
  flags.given["tls-ca"] = {"a"};
  return flags;
}

ServeSettings settings_of(const Flags& flags) {
  auto settings = resolve_serve(flags);
  REQUIRE(settings.has_value());
  return std::move(*settings);
}

}  // namespace

TEST_CASE("roles are read") {
  const Configuration file = file_of(R"(
[roles.tracer]
commands = ["CollectTracing*", "StopTracing"]
[roles.dumper]
includes = "tracer"
commands = "GenerateCoreDump*"
)");
  REQUIRE(file.roles.size() == 2);
  // Their order is the file's own, or that of their names: each is found by its name.
  const auto& dumper = file.roles[0].name == "dumper" ? file.roles[0] : file.roles[1];
  const auto& tracer = file.roles[0].name == "dumper" ? file.roles[1] : file.roles[0];
  CHECK(dumper.includes == Words{"tracer"});
  CHECK(dumper.commands == Words{"GenerateCoreDump*"});
  CHECK(tracer.name == "tracer");
  CHECK(tracer.commands == Words{"CollectTracing*", "StopTracing"});
}

TEST_CASE("grants are read, in their order and with their numbers") {
  const Configuration file = file_of(R"(
[[grants]]
cn = "alice"
ou = ["oncall", "payments"]
dns = "laptop.example"
uri = "spiffe://acme.example/ns/*/sa/oncall"
pin = "RkZGRkZGRkZGRkZGRkZGRkZGRkZGRkZGRkZGRkZGRkY="
role = "operator"
runtimes = { name = "orders*", command_line = ["*--shop north*", "*--shop south*"], pid = [1, 7], user = [1000, "app"] }
[[grants]]
all = true
)");
  REQUIRE(file.grants.size() == 2);
  const Grant& first = file.grants[0];
  CHECK(first.text == "grant 1");
  CHECK(first.identity.cn == Words{"alice"});
  CHECK(first.identity.ou == Words{"oncall", "payments"});
  CHECK(first.identity.dns == Words{"laptop.example"});
  CHECK(first.identity.uri == Words{"spiffe://acme.example/ns/*/sa/oncall"});
  CHECK(first.identity.pin.size() == 1);
  CHECK_FALSE(first.identity.all);
  CHECK(first.role == "operator");
  CHECK(first.runtimes.name == Words{"orders*"});
  CHECK(first.runtimes.command_line.size() == 2);
  CHECK(first.runtimes.pid == std::vector<std::uint64_t>{1, 7});
  CHECK(first.runtimes.user == Words{"1000", "app"});
  CHECK(file.grants[1].text == "grant 2");
  CHECK(file.grants[1].identity.all);
  CHECK(file.grants[1].role.empty());
  CHECK(file.grants[1].runtimes.empty());
}

TEST_CASE("one grant may stand as a table") {
  const Configuration file = file_of("[grants]\ncn = \"alice\"\n");
  REQUIRE(file.grants.size() == 1);
  CHECK(file.grants[0].identity.cn == Words{"alice"});
}

TEST_CASE("the short form of grants takes roles") {
  const Configuration file = file_of(R"(
[allow]
cn = ["alice", "bob=operator"]
dns = "laptop.example=admin"
uri = "spiffe://acme.example/sa/*=tracer"
all = "observer"
)");
  REQUIRE(file.grants.size() == 5);
  const auto find = [&](const std::string& text) {
    for (const Grant& grant : file.grants) {
      if (grant.text == text) return grant;
    }
    FAIL("no grant " << text);
    return Grant{};
  };
  CHECK(find("allow-cn=alice").role.empty());
  CHECK(find("allow-cn=bob=operator").role == "operator");
  CHECK(find("allow-cn=bob=operator").identity.cn == Words{"bob"});
  CHECK(find("allow-dns=laptop.example=admin").identity.dns == Words{"laptop.example"});
  CHECK(find("allow-uri=spiffe://acme.example/sa/*=tracer").identity.uri ==
        Words{"spiffe://acme.example/sa/*"});
  CHECK(find("allow-all=observer").identity.all);
}

TEST_CASE("all certificates are allowed by a truth or a role, and not by a lie") {
  CHECK(file_of("[allow]\nall = true").grants.at(0).text == "allow-all");
  CHECK(file_of("[allow]\nall = \"admin\"").grants.at(0).role == "admin");
  CHECK(file_of("[allow]\nall = false").grants.empty());
}

TEST_CASE("what is wrong with roles and grants is said with its place") {
  CHECK(wrong_with("[roles]\ntracer = 7") == "2:10: this must be a table");
  CHECK(wrong_with("[roles.tracer]\ncommand = \"ProcessInfo\"") ==
        "2:1: unknown key \"command\"; did you mean \"commands\"?");
  CHECK(wrong_with("[roles.tracer]\ncommands = [\"ProcessInfo\", 7]") == "2:28: this must be a string");
  CHECK(wrong_with("[roles.tracer]\nincludes = true") == "2:12: this must be a string");
  CHECK(wrong_with("roles = \"tracer\"") == "1:9: this must be a table");
  CHECK(wrong_with("[[grants]]\ncn = 7") == "2:6: this must be a string");
  CHECK(wrong_with("[[grants]]\nall = \"yes\"") == "2:7: this must be true or false");
  CHECK(wrong_with("[[grants]]\nrole = [\"operator\"]") == "2:8: this must be a string");
  CHECK(wrong_with("[[grants]]\ncm = \"alice\"") == "2:1: unknown key \"cm\"; did you mean \"cn\"?");
  CHECK(wrong_with("[[grants]]\ncn = \"a\"\nruntimes = \"orders\"") == "3:12: this must be a table");
  CHECK(wrong_with("[[grants]]\ncn = \"a\"\nruntimes = { nam = \"orders\" }") ==
        "3:14: unknown key \"nam\"; did you mean \"name\"?");
  CHECK(wrong_with("[[grants]]\ncn = \"a\"\n[grants.runtimes]\npid = \"1\"") ==
        "4:7: this must be a whole number");
  CHECK(wrong_with("[[grants]]\ncn = \"a\"\n[grants.runtimes]\npid = [1, -1]") ==
        "4:11: this must be a whole number");
  CHECK(wrong_with("[[grants]]\ncn = \"a\"\n[grants.runtimes]\nuser = [1, true]") ==
        "4:12: this must be a string");
  CHECK(wrong_with("grants = [\"alice\"]") == "1:11: this must be a table");
  CHECK(wrong_with("[allow]\ncm = \"a\"") == "2:1: unknown key \"cm\"; did you mean \"cn\"?");
  CHECK(wrong_with("[allow]\nall = [true]") == "2:7: this must be true, false or a role");
}

TEST_CASE("the audit goes where the file says") {
  CHECK(file_of("").audit == "stderr");
  for (const std::string word : {"stderr", "syslog", "off"}) {
    CHECK(file_of("[audit]\nto = \"" + word + "\"").audit == word);
  }
  CHECK(file_of("[audit]\nto = \"/var/log/audit.jsonl\"").audit == "/var/log/audit.jsonl");
  CHECK(file_of("[audit]\nto = \"./audit.jsonl\"").audit == "/etc/farport/audit.jsonl");
  CHECK_THAT(wrong_with("[audit]\nto = \"stdout\""), Catch::StartsWith("2:6: ") && Catch::Contains("stderr"));
  CHECK(wrong_with("[audit]\nto = false") == "2:6: this must be a string");
  CHECK(wrong_with("[audit]\nfile = \"/x\"") == "2:1: unknown key \"file\"");
  CHECK(wrong_with("audit = \"off\"") == "1:9: this must be a table");
}

TEST_CASE("how dumps are taken is read") {
  const Configuration file = file_of(R"(
[dump]
directory = "dumps"
runtime_directory = "/dumps"
max_size = "2GiB"
keep_free = "512MiB"
)");
  CHECK(file.dump.directory == "/etc/farport/dumps");
  CHECK(file.dump.runtime_directory == "/dumps");
  CHECK(file.dump.max_bytes == 2ULL << 30);
  CHECK(file.dump.keep_free_bytes == 512ULL << 20);
  CHECK(wrong_with("[dump]\nmax_size = 7") == "2:12: this must be a string");
  CHECK_THAT(wrong_with("[dump]\nmax_size = \"2GB\""),
             Catch::StartsWith("2:12: ") && Catch::Contains("64GiB"));
  CHECK(wrong_with("[dump]\nkeepfree = \"1GiB\"") ==
        "2:1: unknown key \"keepfree\"; did you mean \"keep_free\"?");
  CHECK(wrong_with("[dump]\ndirectory = [\"/a\"]") == "2:13: this must be a string");
}

TEST_CASE("flags give roles too, and replace the file's grants, but not its roles") {
  const TemporaryDirectory directory;
  Flags flags = agent_flags();
  flags.given["config"] = {
      directory.file("agent.toml",
                     "[roles.tracer]\ncommands = \"CollectTracing*\"\n[[grants]]\nall = true\n"
                     "[audit]\nto = \"off\"\n")};
  flags.given["allow-cn"] = {"alice=tracer"};
  flags.given["allow-dns"] = {"laptop.example"};
  flags.given["allow-uri"] = {"spiffe://acme.example/x=admin"};
  flags.given["allow-all"] = {"operator"};
  const ServeSettings settings = settings_of(flags);
  CHECK(settings.policy.roles.size() == 1);
  REQUIRE(settings.policy.grants.size() == 4);
  CHECK(settings.policy.grants[0].role == "tracer");
  CHECK(settings.policy.grants[0].identity.cn == Words{"alice"});
  CHECK(settings.policy.grants[1].role.empty());
  CHECK(settings.policy.grants[2].role == "admin");
  CHECK(settings.policy.grants[3].text == "allow-all=operator");
  CHECK(settings.audit == "off");
}

TEST_CASE("variables serve where flags are not given") {
  const std::map<std::string, std::string> variables{
      {"FARPORT_ALLOW_CN", "alice=operator,bob"}, {"FARPORT_ALLOW_ALL", "observer"},
      {"FARPORT_AUDIT", "/var/log/audit.jsonl"},  {"FARPORT_INSECURE_LOOPBACK", "127.0.0.1:9001=operator"},
      {"FARPORT_DUMP_DIRECTORY", "/shared"},      {"FARPORT_DUMP_RUNTIME_DIRECTORY", "/dumps"}};
  const Environment environment = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  Flags flags = agent_flags();
  take_environment(flags, environment);
  const ServeSettings settings = settings_of(flags);
  REQUIRE(settings.policy.grants.size() == 3);
  CHECK(settings.policy.grants[0].role == "operator");
  CHECK(settings.policy.grants[2].text == "allow-all=observer");
  CHECK(settings.audit == "/var/log/audit.jsonl");
  CHECK(settings.insecure_loopback == Address{"127.0.0.1", 9001});
  CHECK(settings.policy.loopback_role == "operator");
  CHECK(settings.dump.directory == "/shared");
  CHECK(settings.dump.runtime_directory == "/dumps");
  Flags own = agent_flags();
  own.given["audit"] = {"off"};
  own.given["allow-cn"] = {"carol"};
  take_environment(own, environment);
  CHECK(settings_of(own).audit == "off");
  CHECK(settings_of(own).policy.grants[0].text == "allow-cn=carol");
}

TEST_CASE("allowing all by a variable is a truth, a lie or a role") {
  const auto taken = [](const std::string& value) -> std::optional<std::string> {
    Flags flags;
    take_environment(flags, [&](const std::string& name) {
      return name == "FARPORT_ALLOW_ALL" ? std::optional(value) : std::nullopt;
    });
    const auto given = flags.given.find("allow-all");
    return given == flags.given.end() ? std::nullopt : std::optional(given->second.front());
  };
  CHECK(taken("1") == "");
  CHECK(taken("true") == "");
  CHECK(taken("0") == std::nullopt);
  CHECK(taken("false") == std::nullopt);
  CHECK(taken("operator") == "operator");
}

TEST_CASE("a listener without TLS has the least role unless it says another") {
  Flags flags = agent_flags();
  flags.given["allow-cn"] = {"alice"};
  CHECK(settings_of(flags).policy.loopback_role == std::nullopt);
  flags.given["insecure-loopback"] = {"[::1]:9001"};
  CHECK(settings_of(flags).policy.loopback_role == "");
  flags.given["insecure-loopback"] = {"[::1]:9001=admin"};
  CHECK(settings_of(flags).policy.loopback_role == "admin");
  CHECK(settings_of(flags).insecure_loopback == Address{"::1", 9001});
}

TEST_CASE("settings that make no sense together are errors") {
  Flags flags = agent_flags();
  flags.given["allow-cn"] = {"alice"};
  flags.given["dump-runtime-directory"] = {"/dumps"};
  const auto without = resolve_serve(flags);
  REQUIRE_FALSE(without.has_value());
  CHECK_THAT(without.error().front(), Catch::Contains("dump.directory"));
  flags.given["dump-directory"] = {"/shared"};
  CHECK(resolve_serve(flags).has_value());
  flags.given["audit"] = {"stdout"};
  const auto audit = resolve_serve(flags);
  REQUIRE_FALSE(audit.has_value());
  CHECK_THAT(audit.error().front(), Catch::Contains("stdout"));
}

TEST_CASE("what comes after the last equals sign is the role") {
  CHECK(split_role("alice").value == "alice");
  CHECK(split_role("alice").role.empty());
  CHECK(split_role("alice=operator").value == "alice");
  CHECK(split_role("alice=operator").role == "operator");
  CHECK(split_role("a=b=operator").value == "a=b");
  CHECK(split_role("alice=").role.empty());
}

TEST_CASE("sizes are whole numbers with a unit") {
  CHECK(parse_bytes("1000").value() == 1000);
  CHECK(parse_bytes("20KiB").value() == 20 << 10);
  CHECK(parse_bytes("64GiB").value() == 64ULL << 30);
  for (const std::string wrong :
       {"", "0", "GiB", "1.5GiB", "-1", "1GB", "1 GiB", "99999999999999999999", "9999999999999GiB"}) {
    INFO(wrong);
    CHECK_FALSE(parse_bytes(wrong).has_value());
  }
}
