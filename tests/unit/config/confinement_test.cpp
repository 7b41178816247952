// The user and the confinement: as the file says them, and as flags and variables do.
#include <catch2/catch.hpp>

#include "config/file.hpp"
#include "config/resolve.hpp"
#include "tests/unit/auth/fixtures.hpp"
#include "tests/unit/config/wrong_with.hpp"

using namespace farport::config;
using farport::auth::test::TemporaryDirectory;

namespace {

Flags confined_flags() {
  Flags flags;
  flags.given["listen"] = {"127.0.0.1:9000"};
  flags.given["allow-cn"] = {"alice"};
  for (const char* name : {"tls-cert", "tls-key", "tls-ca"}) flags.given[name] = {"x"};
  return flags;
}

ConfinementSettings confinement_of(const Flags& flags) {
  auto settings = resolve_serve(flags);
  REQUIRE(settings.has_value());
  return settings->confinement;
}

}  // namespace

TEST_CASE("nobody else is become, and the agent confines itself as far as it can") {
  CHECK(confinement_of(confined_flags()).user.empty());
  CHECK(confinement_of(confined_flags()).mode == "auto");
}

TEST_CASE("the file says who to become, and how much is required") {
  const TemporaryDirectory directory;
  Flags flags = confined_flags();
  flags.given["config"] = {
      directory.file("a.toml", "[confinement]\nuser = \"farport:adm\"\nmode = \"required\"\n")};
  CHECK(confinement_of(flags).user == "farport:adm");
  CHECK(confinement_of(flags).mode == "required");
  flags.given["user"] = {"1654"};
  flags.given["confine"] = {"off"};
  CHECK(confinement_of(flags).user == "1654");
  CHECK(confinement_of(flags).mode == "off");
}

TEST_CASE("variables say it where flags don't") {
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "FARPORT_USER") return "farport";
    if (name == "FARPORT_CONFINE") return "required";
    return std::nullopt;
  };
  Flags flags = confined_flags();
  flags.given["confine"] = {"auto"};
  take_environment(flags, environment);
  CHECK(confinement_of(flags).user == "farport");
  CHECK(confinement_of(flags).mode == "auto");
}

TEST_CASE("other words are errors") {
  CHECK_THAT(wrong_with("[confinement]\nmode = \"strict\""), Catch::Contains("2:8: "));
  CHECK_THAT(wrong_with("[confinement]\nusers = \"x\""), Catch::Contains("did you mean \"user\"?"));
  CHECK_THAT(wrong_with("[confinement]\nuser = 1000"), Catch::Contains("must be a string"));
  Flags flags = confined_flags();
  flags.given["confine"] = {"none"};
  const auto settings = resolve_serve(flags);
  REQUIRE_FALSE(settings.has_value());
  CHECK_THAT(settings.error().front(), Catch::Contains("auto, required or off"));
}
