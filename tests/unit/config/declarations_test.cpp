#include "config/declarations.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "config/flags.hpp"

using namespace farport::config;

namespace {

const Description& described(const std::string& key) {
  const auto& all = descriptions();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.key == key; });
  REQUIRE(found != all.end());
  return *found;
}

}  // namespace

TEST_CASE("a declared setting can be given, is explained, and stands once") {
  std::set<std::string> keys;
  for (const Description& setting : descriptions()) {
    CAPTURE(setting.key, setting.flag);
    CHECK(setting.key.size() + setting.flag.size() > 0);
    CHECK_FALSE(setting.type.empty());
    CHECK_FALSE(setting.help.empty());
    CHECK_FALSE(setting.help.ends_with('.'));
    CHECK((setting.key.empty() || keys.insert(setting.key).second));
    // A flag has a name for its value, unless it takes none, and a command.
    if (setting.flag.empty()) continue;
    CHECK(setting.value.empty() == (setting.takes == Takes::nothing));
    CHECK_FALSE(setting.commands.empty());
  }
}

TEST_CASE("defaults, bounds and variables are those of the settings themselves") {
  CHECK(described("session.grace").default_text == "30s");
  CHECK(described("session.grace").variable == "FARPORT_GRACE");
  CHECK(described("dump.max_size").default_text == "64GiB");
  CHECK(described("limits.message_size").bounds == "20 to 65536 bytes");
  CHECK(described("limits.idle_timeout").default_text == "5m");
  CHECK(described("limits.session_lifetime").default_text == "off");
  CHECK(described("confinement.mode").choices == std::vector<std::string>{"auto", "required", "off"});
  CHECK(described("remotes.NAME.verify.cn").flag == "verify-cn");
}

TEST_CASE("flags set what the command that they were given to takes") {
  const Given given{{"grace", {"1m"}}, {"listen", {"a:1", "b:2"}}, {"select", {"orders*"}}, {"to", {"/t"}}};
  std::vector<std::string> problems;
  Configuration configuration;
  configuration.listen = {{"c", 3}};
  assign(given, "serve", configuration, problems);
  CHECK(problems.empty());
  CHECK(configuration.session.grace == Milliseconds{60'000});
  CHECK(configuration.listen == std::vector<Address>{{"a", 1}, {"b", 2}});
  CHECK(configuration.tools.empty());
  RemoteSettings remote;
  assign(given, "dump", remote, problems);
  CHECK(remote.select.empty());
  assign(given, "connect", remote, problems);
  CHECK(remote.select == std::vector<std::string>{"orders*"});
}

TEST_CASE("a flag's value that can't be used leaves the one before, and each is said") {
  const Given given{{"grace", {"soon"}}, {"listen", {"a", "b:2", "c"}}, {"confine", {"no"}}};
  std::vector<std::string> problems;
  Configuration configuration;
  assign(given, "serve", configuration, problems);
  CHECK(problems.size() == 4);
  CHECK(configuration.session.grace == Milliseconds{30'000});
  CHECK(configuration.confinement.mode == "auto");
}

TEST_CASE("variables fill what no flag gives, each in the way of its flag") {
  Flags flags;
  flags.given["grace"] = {"1s"};
  take_environment(flags, [](const std::string& name) -> std::optional<std::string> {
    if (name == "FARPORT_GRACE") return "2s";
    if (name == "FARPORT_REUSE_PORT") return "true";
    if (name == "FARPORT_TO") return "/a,/b";
    if (name == "FARPORT_DUMP_RUNTIME_DIRECTORY") return "/a,b";
    return std::nullopt;
  });
  CHECK(flags.given == Given{{"grace", {"1s"}},
                             {"reuse-port", {""}},
                             {"to", {"/a", "/b"}},
                             {"dump-runtime-directory", {"/a,b"}}});
}
