#include "config/resolve.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "tests/unit/auth/fixtures.hpp"

using namespace farport::config;
using farport::auth::test::TemporaryDirectory;

namespace {

Environment environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

Flags agent_flags() {
  Flags flags;
  flags.given["listen"] = {"127.0.0.1:9000"};
  flags.given["tls-cert"] = {"c"};
  flags.given["tls-key"] = {"k"};
  flags.given["tls-ca"] = {"a"};
  flags.given["allow-cn"] = {"alice"};
  return flags;
}

std::string problems_of(const Flags& flags) {
  const auto settings = resolve_serve(flags);
  std::string all;
  if (!settings) {
    for (const std::string& problem : settings.error()) all += problem + "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("the word proc among the search directories stands for every process, wherever it is given") {
  const TemporaryDirectory directory;
  Flags flags = agent_flags();
  CHECK_FALSE(resolve_serve(flags)->search_processes);
  flags.given["config"] = {directory.file("agent.toml", "[runtimes]\nsearch = [\"proc\", \"/a\"]\n")};
  const auto by_file = resolve_serve(flags);
  REQUIRE(by_file.has_value());
  CHECK(by_file->search_processes);
  CHECK(by_file->search == std::vector<std::string>{"/a"});
  flags.given["search"] = {"proc"};
  const auto alone = resolve_serve(flags);
  REQUIRE(alone.has_value());
  CHECK(alone->search_processes);
  CHECK(alone->search.empty());
  flags.given["search"] = {"./proc", "/proc"};
  const auto directories = resolve_serve(flags);
  REQUIRE(directories.has_value());
  CHECK_FALSE(directories->search_processes);
  CHECK(directories->search == std::vector<std::string>{"./proc", "/proc"});
}

TEST_CASE("flags win over the environment, the environment over the file") {
  const TemporaryDirectory directory;
  Flags flags = agent_flags();
  flags.given["config"] = {
      directory.file("agent.toml",
                     "listen = \"127.0.0.1:1\"\n[log]\nlevel = \"warn\"\nformat = \"json\"\n"
                     "[runtimes]\nsearch = \"/from-file\"\n[tls]\nca = \"/file-ca\"\n")};
  flags.given.erase("tls-ca");
  take_environment(flags, environment({{"FARPORT_LISTEN", "127.0.0.1:2"},
                                       {"FARPORT_LOG_LEVEL", "debug"},
                                       {"FARPORT_SEARCH", "/one,/two"}}));
  const auto settings = resolve_serve(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->listen == std::vector<Address>{{"127.0.0.1", 9000}});
  CHECK(settings->log.level == "debug");
  CHECK(settings->log.format == "json");
  CHECK(settings->search == std::vector<std::string>{"/one", "/two"});
  CHECK(settings->tls.ca == "/file-ca");
  CHECK(settings->tls.cert == "c");
  CHECK(settings->tls.crl.empty());
}

TEST_CASE("revocation lists come from the flag, the environment or the file") {
  const TemporaryDirectory directory;
  Flags flags = agent_flags();
  flags.given["config"] = {directory.file("agent.toml", "[tls]\ncrl = \"/file-crl\"\n")};
  CHECK(resolve_serve(flags)->tls.crl == "/file-crl");
  take_environment(flags, environment({{"FARPORT_TLS_CRL", "/variable-crl"}}));
  CHECK(resolve_serve(flags)->tls.crl == "/variable-crl");
  flags.given["tls-crl"] = {"/flag-crl"};
  CHECK(resolve_serve(flags)->tls.crl == "/flag-crl");
}

TEST_CASE("a remote with a CA of its own has only its own revocation lists") {
  const TemporaryDirectory directory;
  Flags flags;
  flags.given["config"] = {
      directory.file("config.toml",
                     "[tls]\ncert = \"/c\"\nkey = \"/k\"\nca = \"/a\"\ncrl = \"/l\"\n"
                     "[remotes.plain]\naddress = \"a:1\"\n"
                     "[remotes.other]\naddress = \"b:1\"\ntls = { ca = \"/b\" }\n"
                     "[remotes.both]\naddress = \"c:1\"\ntls = { ca = \"/b\", crl = \"/m\" }\n")};
  flags.remotes = {"plain", "other", "both"};
  const auto settings = resolve_connect(flags);
  REQUIRE(settings.has_value());
  REQUIRE(settings->remotes.size() == 3);
  CHECK(settings->remotes[0].tls.crl == "/l");
  CHECK(settings->remotes[1].tls.crl.empty());
  CHECK(settings->remotes[2].tls.crl == "/m");
}

TEST_CASE("ports to dial come from the flags, the environment or the file, and nobody is resumed unasked") {
  const TemporaryDirectory directory;
  Flags flags = agent_flags();
  const auto plain = resolve_serve(flags);
  REQUIRE(plain.has_value());
  CHECK(plain->diagnostic_ports.empty());
  CHECK_FALSE(plain->resume_after.has_value());

  flags.given["config"] = {
      directory.file("agent.toml", "[runtimes]\ndiagnostic_port = \"/diag/a\"\nresume_after = \"1m\"\n")};
  const auto by_file = resolve_serve(flags);
  REQUIRE(by_file.has_value());
  CHECK(by_file->diagnostic_ports == std::vector<std::string>{"/diag/a"});
  CHECK(by_file->resume_after == Milliseconds(60'000));
  CHECK_FALSE(by_file->search.empty());

  take_environment(flags, environment({{"FARPORT_DIAGNOSTIC_PORT", "/diag/b,/diag/../diag/c"},
                                       {"FARPORT_RESUME_AFTER", "5s"}}));
  const auto by_environment = resolve_serve(flags);
  REQUIRE(by_environment.has_value());
  CHECK(by_environment->diagnostic_ports == std::vector<std::string>{"/diag/b", "/diag/c"});
  CHECK(by_environment->resume_after == Milliseconds(5000));

  flags.given["resume-after"] = {"soon"};
  flags.given["diagnostic-port"] = {""};
  CHECK_THAT(problems_of(flags), Catch::Contains("500ms, 5s") && Catch::Contains("it is empty"));
}

TEST_CASE("rules by flags replace those of the file") {
  const TemporaryDirectory directory;
  Flags flags = agent_flags();
  flags.given["config"] = {directory.file("agent.toml", "[allow]\nall = true\ncn = [\"bob\"]\n")};
  const auto settings = resolve_serve(flags);
  REQUIRE(settings.has_value());
  REQUIRE(settings->policy.grants.size() == 1);
  CHECK(settings->policy.grants[0].text == "allow-cn=alice");
}

TEST_CASE("an agent that could serve nobody refuses to start") {
  Flags flags = agent_flags();
  CHECK(problems_of(flags).empty());
  flags.given.erase("allow-cn");
  CHECK_THAT(problems_of(flags), Catch::Contains("nobody could connect"));
  flags = agent_flags();
  flags.given.erase("listen");
  CHECK_THAT(problems_of(flags), Catch::Contains("nothing to listen on"));
  flags.given["insecure-loopback"] = {"127.0.0.1:9001"};
  CHECK(problems_of(flags).empty());
  flags.given["insecure-loopback"] = {"10.0.0.1:9001"};
  CHECK_THAT(problems_of(flags), Catch::Contains("is not a loopback address"));
  flags = agent_flags();
  flags.given.erase("tls-key");
  CHECK_THAT(problems_of(flags), Catch::Contains("--tls-key") && Catch::Contains("FARPORT_TLS_KEY"));
  flags = agent_flags();
  flags.given["listen"] = {"9000"};
  flags.given["runtime"] = {"orders"};
  CHECK_THAT(problems_of(flags), Catch::Contains("the port is missing") && Catch::Contains("NAME=PATH"));
}

TEST_CASE("health and metrics are at a loopback address unless another one is given") {
  Flags flags = agent_flags();
  CHECK_FALSE(resolve_serve(flags)->admin.has_value());
  flags.given["admin"] = {"9100"};
  CHECK(resolve_serve(flags)->admin == Address{"127.0.0.1", 9100});
  flags.given["admin"] = {"0.0.0.0:9100"};
  CHECK(resolve_serve(flags)->admin == Address{"0.0.0.0", 9100});
  flags.given["admin"] = {"here"};
  CHECK_THAT(problems_of(flags), Catch::Contains("the port must be a number"));
  // There is no one to serve by that alone.
  flags.given["admin"] = {"9100"};
  flags.given.erase("listen");
  CHECK_THAT(problems_of(flags), Catch::Contains("nothing to listen on"));
}

TEST_CASE("a remote is an address or a profile") {
  const TemporaryDirectory directory;
  Flags flags;
  flags.given["config"] = {directory.file("config.toml",
                                          "[tls]\ncert = \"/c\"\nkey = \"/k\"\nca = \"/a\"\n"
                                          "[remotes.prod-orders]\naddress = \"orders:9000\"\n"
                                          "server_name = \"orders\"\ntls = { ca = \"/own-ca\" }\n")};
  flags.remotes = {"prod-orders", "10.0.0.2:9000"};
  const auto settings = resolve_connect(flags);
  REQUIRE(settings.has_value());
  REQUIRE(settings->remotes.size() == 2);
  CHECK(settings->remotes[0].addresses == std::vector<Address>{{"orders", 9000}});
  CHECK(settings->remotes[0].server_name == "orders");
  CHECK(settings->remotes[0].tls.ca == "/own-ca");
  CHECK(settings->remotes[0].tls.cert == "/c");
  CHECK(settings->remotes[1].tls.ca == "/a");

  flags.remotes = {"prod-ordres"};
  const auto wrong = resolve_connect(flags);
  REQUIRE_FALSE(wrong.has_value());
  CHECK_THAT(wrong.error().front(), Catch::Contains("did you mean \"prod-orders\"?"));
}

TEST_CASE("an agent may be reached by a command, without certificates") {
  Flags flags;
  flags.given["via"] = {"ssh web-3 farport stdio"};
  const auto settings = resolve_connect(flags);
  REQUIRE(settings.has_value());
  REQUIRE(settings->remotes.size() == 1);
  CHECK(settings->remotes.front().via == "ssh web-3 farport stdio");
  CHECK(settings->remotes.front().addresses.empty());
  flags.remotes = {"10.0.0.2:9000"};
  CHECK_FALSE(resolve_connect(flags).has_value());
}

TEST_CASE("schemes name agents that are reached by a command") {
  Flags flags;
  flags.remotes = {"ssh://ops@web-3:22"};
  const auto settings = resolve_connect(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->remotes.front().reach == "ssh://ops@web-3:22");
  flags.remotes = {"https://web-3:9000"};
  CHECK_FALSE(resolve_connect(flags).has_value());
}

TEST_CASE("a dump's runtime stands behind one slash, behind two where the agent has slashes of its own") {
  Flags flags;
  flags.target = "ssh://ops@web-3//orders";
  auto settings = resolve_dump(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->remote.reach == "ssh://ops@web-3");
  CHECK(settings->runtime == "orders");
  flags.target = "ssh://ops@web-3";
  settings = resolve_dump(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->runtime.empty());
  flags.target = "orders";
  flags.given["via"] = {"farport stdio"};
  settings = resolve_dump(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->runtime == "orders");
}

TEST_CASE("a runtime is named by a flag as well, and not twice") {
  Flags flags;
  flags.target = "ssh://ops@web-3";
  flags.runtime = "orders";
  const auto settings = resolve_dump(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->remote.reach == "ssh://ops@web-3");
  CHECK(settings->runtime == "orders");
  flags.target = "ssh://ops@web-3//payments";
  CHECK_FALSE(resolve_dump(flags).has_value());
}

TEST_CASE("where no agent is named, it says what can be given") {
  const auto settings = resolve_ps(Flags{}, "ps");
  REQUIRE_FALSE(settings.has_value());
  CHECK_THAT(settings.error().front(), Catch::Contains("ssh://HOST"));
}

TEST_CASE("run resolves remotes that are named in the tool's arguments") {
  Flags flags;
  flags.given["tls-cert"] = {"c"};
  flags.given["tls-key"] = {"k"};
  flags.given["tls-ca"] = {"a"};
  flags.tool = {"dotnet-trace", "ps"};
  const auto settings = resolve_run(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->remotes.empty());
  CHECK_FALSE(settings->log_level_given);
  const auto remote = settings->resolve_remote("orders:9000");
  REQUIRE(remote.has_value());
  CHECK(remote->tls.cert == "c");
  CHECK_FALSE(settings->resolve_remote("orders").has_value());
  flags.tool.clear();
  CHECK_FALSE(resolve_run(flags).has_value());
}

TEST_CASE("a bundle stands for certificate, key and CA") {
  Flags flags = agent_flags();
  for (const char* flag : {"tls-cert", "tls-key", "tls-ca"}) flags.given.erase(flag);
  CHECK_THAT(problems_of(flags), Catch::Contains("give --tls-bundle, or --tls-cert, --tls-key and --tls-ca"));
  flags.given["tls-passphrase-file"] = {"p"};
  CHECK_THAT(problems_of(flags), Catch::Contains("a passphrase file for the agent, but no bundle"));
  flags.given["tls-bundle"] = {"b"};
  const auto settings = resolve_serve(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->tls.bundle == "b");
  CHECK(settings->tls.passphrase_file == "p");
  flags.given["tls-key"] = {"k"};
  CHECK_THAT(problems_of(flags), Catch::Contains("both a bundle (b) and single TLS files for the agent"));
}

TEST_CASE("a bundle given by a source of more weight leaves the other's files out, and the other way round") {
  const TemporaryDirectory directory;
  const Environment three =
      environment({{"FARPORT_TLS_CERT", "c"}, {"FARPORT_TLS_KEY", "k"}, {"FARPORT_TLS_CA", "a"}});
  Flags flags = agent_flags();
  for (const char* flag : {"tls-cert", "tls-key", "tls-ca"}) flags.given.erase(flag);
  Flags by_file = flags;
  by_file.given["config"] = {
      directory.file("agent.toml", "[tls]\nbundle = \"/b\"\npassphrase_file = \"/p\"\ncrl = \"/r\"\n")};
  CHECK(resolve_serve(by_file)->tls.bundle == "/b");
  take_environment(by_file, three);
  const auto replaced = resolve_serve(by_file);
  REQUIRE(replaced.has_value());
  CHECK(replaced->tls.bundle.empty());
  CHECK(replaced->tls.passphrase_file.empty());
  CHECK(replaced->tls.crl == "/r");
  flags.given["tls-bundle"] = {"b"};
  take_environment(flags, three);
  const auto bundled = resolve_serve(flags);
  REQUIRE(bundled.has_value());
  CHECK(bundled->tls.bundle == "b");
  CHECK(bundled->tls.cert.empty());
}

TEST_CASE("a remote has a bundle of its own, or that of all") {
  const TemporaryDirectory directory;
  const auto tls_of = [&](const std::string& common, const std::string& own) {
    Flags flags;
    flags.given["config"] = {
        directory.file("config.toml", "[tls]\n" + common +
                                          "\n[remotes.orders]\naddress = \"orders:9000\"\n"
                                          "[remotes.orders.tls]\n" +
                                          own)};
    flags.remotes = {"orders"};
    return resolve_ps(flags, "ps");
  };
  const std::string three = "cert = \"/c\"\nkey = \"/k\"\nca = \"/a\"\n";
  const auto own = tls_of(three + "crl = \"/r\"", "bundle = \"/b\"");
  REQUIRE(own.has_value());
  CHECK(own->remotes[0].tls.bundle == "/b");
  CHECK(own->remotes[0].tls.cert.empty());
  CHECK(own->remotes[0].tls.crl.empty());
  const auto common = tls_of("bundle = \"/b\"\npassphrase_file = \"/p\"", "crl = \"/r\"");
  REQUIRE(common.has_value());
  CHECK(common->remotes[0].tls.bundle == "/b");
  CHECK(common->remotes[0].tls.passphrase_file == "/p");
  CHECK(common->remotes[0].tls.crl == "/r");
  CHECK(tls_of("bundle = \"/b\"", three)->remotes[0].tls.bundle.empty());
  CHECK_FALSE(tls_of("bundle = \"/b\"", "ca = \"/a\"").has_value());
}

TEST_CASE("an agent that dials needs no address to listen on, and dials each mirror once") {
  Flags flags = agent_flags();
  flags.given.erase("listen");
  flags.given["dial"] = {"laptop:1", "[fd00::2]:2", "laptop:1"};
  const auto settings = resolve_serve(flags);
  REQUIRE(settings.has_value());
  CHECK(settings->dial == std::vector<Address>{{"laptop", 1}, {"fd00::2", 2}});
  flags.given.erase("tls-cert");
  CHECK_THAT(problems_of(flags), Catch::Contains("no TLS cert"));
}

TEST_CASE("a mirror that accepts agents needs certificates, and has no other way to those") {
  Flags flags;
  flags.given["accept"] = {"0.0.0.0:9443"};
  CHECK_FALSE(resolve_connect(flags).has_value());
  for (const char* file : {"tls-cert", "tls-key", "tls-ca"}) flags.given[file] = {file};
  const auto settings = resolve_connect(flags);
  REQUIRE(settings.has_value());
  REQUIRE(settings->remotes.size() == 1);
  CHECK(settings->remotes[0].accept == std::vector<Address>{{"0.0.0.0", 9443}});
  flags.remotes = {"orders:9000"};
  CHECK_FALSE(resolve_connect(flags).has_value());
}

TEST_CASE("the proxy is the flag's, the file's or the environment's, and loopback has none") {
  const TemporaryDirectory directory;
  const auto towards = [](const Flags& flags, const char* host) {
    const auto settings = resolve_ps(flags, "ps");
    REQUIRE(settings.has_value());
    const auto proxy = settings->remotes.front().proxy.towards(host);
    return proxy ? proxy->text() : std::string("none");
  };
  Flags flags;
  for (const char* file : {"tls-cert", "tls-key", "tls-ca"}) flags.given[file] = {file};
  flags.remotes = {"orders:9000"};
  CHECK(towards(flags, "orders") == "none");
  take_environment(flags, environment({{"https_proxy", "http://environment:1"}, {"NO_PROXY", "payments"}}));
  CHECK(towards(flags, "orders") == "environment:1");
  CHECK(towards(flags, "payments") == "none");
  CHECK(towards(flags, "127.0.0.1") == "none");
  flags.given["config"] = {directory.file("config.toml", "proxy = \"file:2\"\n")};
  CHECK(towards(flags, "orders") == "file:2");
  flags.given["proxy"] = {"http://flag"};
  CHECK(towards(flags, "orders") == "flag:80");
  flags.given["proxy"] = {"none"};
  CHECK(towards(flags, "orders") == "none");
  flags.given["proxy"] = {"socks5://flag"};
  CHECK_FALSE(resolve_ps(flags, "ps").has_value());
}

TEST_CASE("places of symbols come from flags, the environment and the file, and servers are URLs") {
  const TemporaryDirectory directory;
  Flags flags;
  flags.target = "ssh://orders";
  CHECK(resolve_profile(flags)->symbols.servers.empty());
  flags.given["config"] = {
      directory.file("mirror.toml", "[profile]\nsymbols = [\"a\"]\nsymbol_server = [\"https://symbols\"]\n")};
  CHECK(resolve_profile(flags)->symbols.directories == std::vector{directory.path() + "/a"});
  CHECK(resolve_profile(flags)->symbols.servers == std::vector<std::string>{"https://symbols"});
  take_environment(flags, environment({{"FARPORT_SYMBOLS", "b,c"}}));
  CHECK(resolve_profile(flags)->symbols.directories == std::vector<std::string>{"b", "c"});
  flags.given["symbol-server"] = {"https://me:secret@symbols.example:8443/path", "http://[::1]"};
  CHECK(resolve_profile(flags)->symbols.servers.size() == 2);
  for (const char* const wrong :
       {"symbols.example", "file:///etc/passwd", "ftp://a", "https://", "http://a b",
        "http://a\"\noutput = x", "http://a\\", "http://a?b", "http://a#b", ""}) {
    flags.given["symbol-server"] = {wrong};
    const auto settings = resolve_profile(flags);
    REQUIRE_FALSE(settings);
    CHECK_THAT(settings.error().front(), Catch::Contains("a symbol server is no URL"));
  }
}
