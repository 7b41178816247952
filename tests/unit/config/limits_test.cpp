#include <catch2/catch.hpp>

#include "config/file.hpp"
#include "config/flags.hpp"
#include "config/resolve.hpp"

using namespace farport::config;
using farport::auth::LimitSettings;

namespace {

std::string problem_of(std::string_view assignment) {
  LimitSettings limits;
  const auto set = set_limit(limits, assignment);
  return set ? "" : set.error().message();
}

}  // namespace

TEST_CASE("every limit has a name and takes a value of its kind") {
  LimitSettings limits;
  for (const std::string& name : limit_names()) {
    const bool is_time = name.ends_with("_timeout") || name == "session_lifetime";
    const bool is_size = name.ends_with("_size") || name == "buffered_bytes";
    INFO(name);
    CHECK(set_limit(limits, name,
                    is_time                    ? "7s"
                    : name == "buffered_bytes" ? "7MiB"
                    : is_size                  ? "7KiB"
                                               : "7"));
    CHECK_FALSE(set_limit(limits, name, "much"));
    CHECK_FALSE(set_limit(limits, name, "0"));
    CHECK_FALSE(set_limit(limits, name, "-1"));
    CHECK_FALSE(set_limit(limits, name, ""));
  }
  CHECK(limits.sessions == 7);
  CHECK(limits.requests_per_second == 7);
  CHECK(limits.head_size == 7 * 1024);
  CHECK(limits.buffered_bytes == 7 * 1024 * 1024);
  CHECK(limits.session_lifetime == Milliseconds{7000});
}

TEST_CASE("what makes no sense as a limit is said") {
  CHECK(problem_of("sessions=0") == "cannot use sessions = 0: it must be a whole number from 1 to 1000000");
  CHECK(problem_of("message_size=1MiB") ==
        "cannot use message_size = 1MiB: it must be from 20 to 65536 bytes");
  CHECK(problem_of("sesions=1") ==
        "cannot use the limit sesions: there is no such limit; did you mean \"sessions\"?");
  CHECK(problem_of("sessions") ==
        "cannot use the limit sessions: it has no value; write it as in: --limit sessions=100");
  CHECK(problem_of("handshake_timeout=off").find("handshake_timeout = off") != std::string::npos);
  CHECK(problem_of("idle_timeout=off").empty());
  CHECK(problem_of("session_lifetime=soon").find(", or off") != std::string::npos);
}

TEST_CASE("limits stand in the file, and --limit wins over it") {
  const auto file =
      parse_file("[limits]\nsessions = 5\nhead_size = \"8KiB\"\nidle_timeout = \"off\"\n", "f.toml");
  REQUIRE(file);
  CHECK(file->limits.sessions == 5);
  CHECK(file->limits.head_size == 8192);
  CHECK(file->limits.idle_timeout == Milliseconds{0});
  const auto wrong = parse_file("[limits]\nsessions = true\nhandshake = \"1s\"\nhandshakes = 0\n", "f.toml");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().size() == 3);

  Flags flags;
  flags.given["listen"] = {"127.0.0.1:9000"};
  for (const char* name : {"tls-cert", "tls-key", "tls-ca"}) flags.given[name] = {"x"};
  flags.given["allow-cn"] = {"alice"};
  flags.given["limit"] = {"sessions=6", "idle_timeout=1m"};
  const auto settings = resolve_serve(flags);
  REQUIRE(settings);
  CHECK(settings->limits.sessions == 6);
  CHECK(settings->limits.idle_timeout == Milliseconds{60'000});
  flags.given["limit"] = {"sessions=none"};
  CHECK_FALSE(resolve_serve(flags));
}
