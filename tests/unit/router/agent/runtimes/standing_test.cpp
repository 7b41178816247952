// Why one process may not look into another, in words.
#include <cerrno>

#include <linux/capability.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "router/agent/runtimes/process_root.hpp"

using namespace farport;
using Catch::Matchers::Contains;
using router::ProcessCredentials;

namespace {

constexpr std::uint64_t kAll = (std::uint64_t{1} << (CAP_LAST_CAP + 1)) - 1;
constexpr std::uint64_t kNoTrace = kAll & ~(std::uint64_t{1} << CAP_SYS_PTRACE);

std::string why(const ProcessCredentials& own, const ProcessCredentials& process) {
  return router::explain_refusal("process 7", own, process).message();
}

}  // namespace

TEST_CASE("what keeps a process from looking into another is named with what to do") {
  CHECK_THAT(why({1000, 1000, 0, "", ""}, {1654, 1654, 0, "", ""}),
             Contains("it belongs to user 1654 and farport runs as user 1000") &&
                 Contains("run farport as user 1654"));
  CHECK_THAT(
      why({0, 0, kNoTrace, "", ""}, {1654, 1654, 0, "", ""}),
      Contains("it belongs to user 1654, and farport runs as user 0 without the capability CAP_SYS_PTRACE"));
  CHECK_THAT(why({1654, 0, 0, "", ""}, {1654, 1654, 0, "", ""}),
             Contains("it runs as group 1654 and farport as group 0") && Contains("runAsGroup"));
  CHECK_THAT(why({0, 0, kAll, "a", ""}, {0, 0, kAll, "b", ""}), Contains("in another user namespace"));
  CHECK_THAT(why({0, 0, kNoTrace, "a", ""}, {0, 0, kAll, "a", ""}),
             Contains("it has capabilities that farport lacks"));
  CHECK_THAT(
      why({0, 0, kAll, "a", "docker-default"}, {0, 0, kAll, "a", ""}),
      Contains("AppArmor keeps farport (under the profile docker-default) from it (without a profile)"));
  CHECK_THAT(why({0, 0, kAll, "a", ""}, {0, 0, kAll, "a", ""}), Contains("a security module (Landlock, "));
  CHECK_THAT(why({7, 7, 0, "a", ""}, {7, 7, 0, "a", ""}), Contains("it isn't dumpable"));
}

TEST_CASE("a socket that may be looked for and not be reached") {
  const auto lost = [](int error, const ProcessCredentials& own) {
    return router::explain_lost_socket("process 7", "/tmp/own/socket", error, own, {1654, 1654, 0, "", ""})
        .message();
  };
  CHECK_THAT(lost(EACCES, {0, 0, 0, "", ""}), Contains("as user 0 without the capability CAP_DAC_OVERRIDE") &&
                                                  Contains("/tmp/own/socket") &&
                                                  Contains("run farport as user 1654"));
  CHECK_THAT(lost(EACCES, {7, 7, 0, "", ""}), Contains("farport, as user 7, may not reach"));
  CHECK_THAT(lost(ENOENT, {0, 0, kAll, "", ""}), Contains("it has been removed"));
  CHECK_THAT(lost(ELOOP, {0, 0, kAll, "", ""}), Contains("symbolic links"));
}

TEST_CASE("this process's own standing is what the system says") {
  const ProcessCredentials own = router::credentials_of(::getpid());
  CHECK(own.user == ::geteuid());
  CHECK(own.group == ::getegid());
  CHECK_FALSE(own.users.empty());
}
