// The user and the confinement: as the file says them, and as flags and variables do.
#include <catch2/catch.hpp>

#include "config/file.hpp"
#include "config/resolve.hpp"
#include "tests/unit/auth/fixtures.hpp"

using namespace farport::config;
using farport::auth::test::TemporaryDirectory;

namespace {

Flags agent_flags() {
  Flags flags;
  flags.given["listen"] = {"127.0.0.1:9000"};
  flags.given["allow-cn"] = {"alice"};
  for (const char* name : {"tls-cert", "tls-key", "tls-ca"}) flags.given[name] = {"x"};
  return flags;
}

ConfinementSettings settings_of(const Flags& flags) {
  auto settings = resolve_serve(flags);
  REQUIRE(settings.has_value());
  return settings->confinement;
}

std::string wrong_with(const std::string& text) {
  const auto file = parse_file(text, "a.toml");
  REQUIRE_FALSE(file.has_value());
  REQUIRE(file.error().size() == 1);
  return file.error().front();
}

}  // namespace

TEST_CASE("nobody else is become, and the agent confines itself as far as it can") {
  CHECK(settings_of(agent_flags()).user.empty());
  CHECK(settings_of(agent_flags()).mode == "auto");
}

TEST_CASE("the file says who to become, and how much is required") {
  const TemporaryDirectory directory;
  Flags flags = agent_flags();
  flags.given["config"] = {
      directory.file("a.toml", "[confinement]\nuser = \"farport:adm\"\nmode = \"required\"\n")};
  CHECK(settings_of(flags).user == "farport:adm");
  CHECK(settings_of(flags).mode == "required");
  flags.given["user"] = {"1654"};
  flags.given["confine"] = {"off"};
  CHECK(settings_of(flags).user == "1654");
  CHECK(settings_of(flags).mode == "off");
}

TEST_CASE("variables say it where flags don't") {
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "FARPORT_USER") return "farport";
    if (name == "FARPORT_CONFINE") return "required";
    return std::nullopt;
  };
  Flags flags = agent_flags();
  flags.given["confine"] = {"auto"};
  take_environment(flags, environment);
  CHECK(settings_of(flags).user == "farport");
  CHECK(settings_of(flags).mode == "auto");
}

TEST_CASE("other words are errors") {
  CHECK_THAT(wrong_with("[confinement]\nmode = \"strict\""), Catch::Contains("a.toml:2:8: "));
  CHECK_THAT(wrong_with("[confinement]\nusers = \"x\""), Catch::Contains("did you mean \"user\"?"));
  CHECK_THAT(wrong_with("[confinement]\nuser = 1000"), Catch::Contains("must be a string"));
  Flags flags = agent_flags();
  flags.given["confine"] = {"none"};
  const auto settings = resolve_serve(flags);
  REQUIRE_FALSE(settings.has_value());
  CHECK_THAT(settings.error().front(), Catch::Contains("auto, required or off"));
}
