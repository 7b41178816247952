#include "config/file.hpp"

#include <catch2/catch.hpp>

using namespace farport::config;

namespace {

Problems errors_of(const std::string& text) {
  const auto file = parse_file(text, "/etc/farport/agent.toml");
  return file ? Problems{} : file.error();
}

}  // namespace

TEST_CASE("a whole agent's file is read, with paths relative to it") {
  const auto file = parse_file(R"(
listen = ["0.0.0.0:9000", "[::]:9000"]
insecure_loopback = "127.0.0.1:9001"
admin = "9100"
[tls]
cert = "agent.crt"
key = "/keys/agent.key"
ca = "../ca.crt"
crl = "lists/crl.pem"
[log]
level = "debug"
format = "json"
[runtimes]
search = "/tmp"
rescan = "500ms"
diagnostic_port = ["/diag/farport.sock", "own.sock"]
resume_after = "30s"
[runtimes.named]
orders = "/run/orders.sock"
[allow]
cn = ["alice", "bob"]
uri = ["spiffe://acme.example/ns/*/sa/oncall"]
[limits]
handshake_timeout = "2s"
first_message_timeout = "1m"
)",
                               "/etc/farport/agent.toml");
  REQUIRE(file.has_value());
  CHECK(file->listen == std::vector<Address>{{"0.0.0.0", 9000}, {"::", 9000}});
  CHECK(file->insecure_loopback == "127.0.0.1:9001");
  CHECK(file->admin == "9100");
  CHECK(file->tls.cert == "/etc/farport/agent.crt");
  CHECK(file->tls.key == "/keys/agent.key");
  CHECK(file->tls.ca == "/etc/ca.crt");
  CHECK(file->tls.crl == "/etc/farport/lists/crl.pem");
  CHECK(file->log.level == "debug");
  CHECK(file->log.format == "json");
  CHECK(file->search == std::vector<std::string>{"/tmp"});
  CHECK(file->rescan == Milliseconds(500));
  CHECK(file->diagnostic_ports == std::vector<std::string>{"/diag/farport.sock", "/etc/farport/own.sock"});
  CHECK(file->resume_after == Milliseconds(30'000));
  CHECK(file->named == std::vector<farport::NamedPath>{{"orders", "/run/orders.sock"}});
  REQUIRE(file->grants.size() >= 2);
  CHECK(file->grants[0].text == "allow-cn=alice");
  CHECK(file->grants[1].identity.cn == std::vector<std::string>{"bob"});
  CHECK(file->limits.handshake_timeout == Milliseconds(2000));
  CHECK(file->limits.first_message_timeout == Milliseconds(60'000));
}

TEST_CASE("profiles of remotes are read") {
  const auto file = parse_file(R"(
[remotes.prod-orders]
address = "orders.prod.example:9000"
server_name = "orders"
select = ["orders*"]
tls = { cert = "c", key = "k", ca = "a" }
[remotes.two]
address = ["10.0.0.1:9000", "10.0.0.2:9000"]
)",
                               "/home/alice/.config/farport/config.toml");
  REQUIRE(file.has_value());
  const RemoteSettings& remote = file->remotes.at("prod-orders");
  CHECK(remote.profile == "prod-orders");
  CHECK(remote.addresses == std::vector<Address>{{"orders.prod.example", 9000}});
  CHECK(remote.server_name == "orders");
  CHECK(remote.select == std::vector<std::string>{"orders*"});
  CHECK(remote.tls.cert == "/home/alice/.config/farport/c");
  CHECK(file->remotes.at("two").addresses.size() == 2);
}

TEST_CASE("what is wrong with a file is said with its place") {
  const auto only = [](const std::string& text) {
    const Problems errors = errors_of(text);
    REQUIRE(errors.size() == 1);
    return errors.front();
  };
  CHECK(only("lisen = []") == "/etc/farport/agent.toml:1:1: unknown key \"lisen\"; did you mean \"listen\"?");
  CHECK(only("[runtimes]\n  serch = [\"/tmp\"]") ==
        "/etc/farport/agent.toml:2:3: unknown key \"serch\"; did you mean \"search\"?");
  CHECK(only("nonsense_that_is_near_nothing = 1") ==
        "/etc/farport/agent.toml:1:1: unknown key \"nonsense_that_is_near_nothing\"");
  CHECK(only("[allow]\nall = 7") == "/etc/farport/agent.toml:2:7: this must be true, false or a role");
  CHECK(only("[allow]\ncn = [\"alice\", 7]") == "/etc/farport/agent.toml:2:16: this must be a string");
  CHECK(only("tls = 3") == "/etc/farport/agent.toml:1:7: this must be a table");
  CHECK(only("[log]\nlevel = \"loud\"") ==
        "/etc/farport/agent.toml:2:9: \"loud\" is not one of trace, debug, info, warn, error, off");
  CHECK_THAT(only("listen = [\"nowhere\"]"),
             Catch::StartsWith("/etc/farport/agent.toml:1:11: ") && Catch::Contains("the port is missing"));
  CHECK_THAT(only("[runtimes]\nrescan = \"soon\""), Catch::StartsWith("/etc/farport/agent.toml:2:10: "));
  CHECK_THAT(only("[runtimes]\nrescan = 5"), Catch::Contains("this must be a string"));
  CHECK_THAT(only("[remotes.x]\nserver_name = \"y\""), Catch::Contains("the remote \"x\" has no address"));
  CHECK_THAT(only("listen = [\"a:1\""), Catch::StartsWith("/etc/farport/agent.toml:1:"));
}

TEST_CASE("a table whose name can't be one is an error with its place") {
  const std::string text = GENERATE("[~]", "[=]", "[[[a]]]", "[[=");
  const Problems errors = errors_of("[tls]\n" + text);
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors.front(), Catch::StartsWith("/etc/farport/agent.toml:2:") && Catch::Contains("key"));
}

TEST_CASE("letters outside ASCII where none may be are an error with its place") {
  const std::string text = GENERATE("ë = 1", "listen = [] ë", "[log] ж", "あ");
  const Problems errors = errors_of("[tls]\n" + text);
  REQUIRE(errors.size() == 1);
  CHECK_THAT(errors.front(), Catch::StartsWith("/etc/farport/agent.toml:2:") && Catch::Contains("saw"));
}

TEST_CASE("all mistakes are reported, not only the first") {
  CHECK(errors_of("lisen = 1\n[tls]\ncrt = \"a\"\n[allow]\nall = 1\n").size() == 3);
}

TEST_CASE("a file that can't be read is named") {
  const auto file = read_file("/nowhere/agent.toml");
  REQUIRE_FALSE(file.has_value());
  CHECK(file.error().front() ==
        "cannot read the configuration /nowhere/agent.toml: No such file or directory");
}
