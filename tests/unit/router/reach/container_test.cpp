// What an engine is asked for, by one that writes it down.
#include "router/reach/container.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

namespace farport::router {
namespace {

namespace fs = std::filesystem;

/// An engine whose container runs as user 1654, and whose helper containers answer nothing. It is an old one
/// that does not know all capabilities.
constexpr const char* kEngine = R"sh(#!/bin/sh
echo "$@" >>"$(dirname "$0")/asked"
case "$1 $2" in
  "container inspect") echo '[{"Id": "0a1b2c3d4e5f6a7b", "State": {"Running": true, "Pid": 7},
    "Config": {"User": "1654:1654"}, "HostConfig": {"CapAdd": null, "CapDrop": null}}]';;
  exec*) exit 1;;
  run*) case "$*" in *perfmon*)
    printf 'docker: invalid CapAdd: unknown capability: "CAP_PERFMON"\n\nRun \047docker run --help\047\n' >&2; exit 125;;
    esac;;
esac
)sh";

/// What the engine was asked for when a container was to be reached, all in one line.
std::string asked_for(bool profiles) {
  std::string directory = "/tmp/farport-engine-XXXXXX";
  REQUIRE(::mkdtemp(directory.data()) != nullptr);
  const std::string engine = directory + "/engine";
  std::ofstream(engine) << kEngine;
  fs::permissions(engine, fs::perms::owner_all);
  Deploy deploy;
  deploy.way = Deploy::Way::ephemeral;
  deploy.image = "registry.example/farport";
  deploy.announce = [](const std::string&) {};
  deploy.profiles = profiles;
  transport::Loop loop;
  const auto reach = container_reach("podman://orders", engine, "orders", std::move(deploy));
  REQUIRE(reach);
  CHECK_FALSE(loop.run((*reach)->open(loop, make_silent_log())));
  std::ifstream file(directory + "/asked");
  std::string asked{std::istreambuf_iterator<char>(file), {}};
  fs::remove_all(directory);
  return asked;
}

TEST_CASE("a helper container has no more rights than its target, but for a profile") {
  const std::string plain = asked_for(false);
  CHECK_THAT(plain, Catch::Contains("--user 1654:1654") && Catch::Contains("--cap-drop all"));
  CHECK_THAT(plain, !Catch::Contains("--cap-add") && !Catch::Contains("seccomp"));
  const std::string profiling = asked_for(true);
  CHECK_THAT(profiling,
             Catch::Contains("--cap-drop all") &&
                 Catch::Contains("--cap-add syslog --security-opt seccomp=unconfined --cap-add perfmon"));
  // Docker gives capabilities to root alone.
  CHECK_THAT(profiling, Catch::Contains("--user 0:0") && Catch::Contains("stdio --foreground") &&
                            Catch::Contains("--user 1654:1654\n") &&
                            Catch::Contains("exec --interactive --user 1654:1654"));
  CHECK_THAT(profiling,
             Catch::Contains("--cap-add syslog --security-opt seccomp=unconfined --cap-add setuid"));
  // It is not taken for one that has no such rights.
  CHECK_THAT(plain, Catch::Contains("--name farport-0a1b2c3d4e5f "));
  CHECK_THAT(profiling, Catch::Contains("--name farport-0a1b2c3d4e5f-profile "));
}

}  // namespace
}  // namespace farport::router
