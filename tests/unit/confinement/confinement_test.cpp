// What a process gives up, as far as a test that lives on can tell: integration tests do the rest.
#include "confinement/confinement.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "cli/setup/confine.hpp"
#include "confinement/user.hpp"
#include "tests/unit/auth/fixtures.hpp"

using namespace farport;
using namespace farport::confinement;
using farport::auth::test::TemporaryDirectory;

namespace {

/// What the rules say of a path: all their accesses together.
unsigned access_at(const Needs& needs, const std::string& path) {
  unsigned access = 0;
  for (const FileRule& rule : needs.files) {
    if (rule.path == path) access |= rule.access;
  }
  return access;
}

constexpr unsigned kRead = static_cast<unsigned>(Access::read);
constexpr unsigned kWrite = static_cast<unsigned>(Access::write);
constexpr unsigned kExchange = static_cast<unsigned>(Access::exchange);
constexpr unsigned kRemove = static_cast<unsigned>(Access::remove);

std::string why_not(std::string_view user) {
  const auto found = find_user(user);
  REQUIRE_FALSE(found.has_value());
  return found.error().message();
}

}  // namespace

TEST_CASE("users are names or numbers, with a group or without") {
  // Every Debian has this user, with this number and a group of its own.
  const auto by_name = find_user("www-data");
  REQUIRE(by_name.has_value());
  CHECK(by_name->uid == 33);
  CHECK(by_name->gid == 33);
  CHECK(find_user("33")->name == "www-data");
  CHECK(find_user("www-data:12345")->gid == 12345);
  CHECK(find_user("www-data:daemon")->gid == 1);
  const auto nameless = find_user("4000000:4000001");
  REQUIRE(nameless.has_value());
  CHECK(nameless->name.empty());
  CHECK(nameless->uid == 4000000);
  CHECK(nameless->gid == 4000001);
  CHECK(describe(*by_name) == "www-data (33)");
  CHECK(describe(*nameless) == "4000000");
}

TEST_CASE("users that there are none of are refused, and so is root") {
  CHECK_THAT(why_not("nobody-knows"), Catch::Contains("no such user"));
  CHECK_THAT(why_not(""), Catch::Contains("no such user"));
  CHECK_THAT(why_not("4294967295"), Catch::Contains("no such user"));
  CHECK_THAT(why_not("4000000"), Catch::Contains("4000000:4000000"));
  CHECK_THAT(why_not("www-data:nobody-knows"), Catch::Contains("no such group"));
  CHECK_THAT(why_not("www-data:"), Catch::Contains("no such group"));
  CHECK_THAT(why_not("root"), Catch::Contains("that is root"));
  CHECK_THAT(why_not("0:1"), Catch::Contains("that is root"));
}

TEST_CASE("capabilities are told by their names") {
  CHECK(describe_capabilities(0) == "none");
  CHECK(describe_capabilities(capability(CAP_KILL) | capability(CAP_CHOWN)) == "chown, kill");
  CHECK(describe_capabilities(agent_capabilities()) == "chown, dac_override, fowner, kill, sys_ptrace");
}

TEST_CASE("what would be in force is found out without any harm", "[not-in-valgrind]") {
  Needs needs;
  needs.files = {{"/proc", static_cast<std::uint8_t>(Access::read)}};
  const Confinement all = dry_run(needs);
  CHECK_THAT(join(all.in_force), Catch::Contains("no new privileges") &&
                                     Catch::Contains("capabilities: none") &&
                                     Catch::Contains("system calls filtered"));
  needs.landlock_conflict = "it would end something";
  const Confinement some = dry_run(needs);
  CHECK_THAT(join(some.missing), Catch::Contains("it would end something"));
  // This process is as free as before.
  CHECK(std::filesystem::exists("/proc/self/status"));
  CHECK(::access("/etc/passwd", R_OK) == 0);
}

TEST_CASE("an agent needs the directories of its files, and of what they are links to") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() + "/archive");
  std::filesystem::create_directory(directory.path() + "/live");
  std::ignore = directory.file("archive/cert2.pem", "a certificate");
  std::filesystem::create_symlink("../archive/cert2.pem", directory.path() + "/live/cert.pem");
  config::ServeSettings settings;
  settings.tls = {directory.path() + "/live/cert.pem", "/keys/agent.key", "/cas/ca.crt"};
  settings.audit = "/var/log/farport/audit.jsonl";
  settings.search = {"/tmp/search"};
  settings.named = {{"orders", "/run/orders/own.sock"}};
  settings.diagnostic_ports = {"/diag/farport.sock"};
  settings.dump.directory = "/dumps";
  const Needs needs = cli::needs_of(settings);
  CHECK(access_at(needs, directory.path() + "/live") == kRead);
  CHECK(access_at(needs, std::filesystem::canonical(directory.path() + "/archive")) == kRead);
  CHECK(access_at(needs, "/keys") == kRead);
  CHECK(access_at(needs, "/cas") == kRead);
  CHECK(access_at(needs, "/var/log/farport") == kWrite);
  CHECK(access_at(needs, "/tmp/search") == (kRead | kExchange));
  CHECK(access_at(needs, "/run/orders") == kExchange);
  CHECK(access_at(needs, "/diag") == (kExchange | kRemove));
  CHECK(access_at(needs, "/dumps") == kExchange);
  CHECK(needs.landlock_conflict.empty());
  CHECK(needs.capabilities == agent_capabilities());
}

TEST_CASE("an audit that is no file needs no directory") {
  config::ServeSettings settings;
  for (const std::string audit : {"stderr", "syslog", "off"}) {
    settings.audit = audit;
    for (const FileRule& rule : cli::needs_of(settings).files) {
      CHECK((rule.path == "/dev/null" || (rule.access & kWrite) == 0));
    }
  }
  settings.audit = "/dev/full";
  CHECK(access_at(cli::needs_of(settings), "/dev/full") == kWrite);
  CHECK(access_at(cli::needs_of(settings), "/dev") == 0);
}

TEST_CASE("dumps through the roots of processes are root's alone, and end with a place for dumps") {
  config::ServeSettings settings;
  CHECK(cli::needs_of(settings).landlock_conflict.empty() == (::geteuid() != 0));
  settings.dump.directory = "/dumps";
  CHECK(cli::needs_of(settings).landlock_conflict.empty());
}

TEST_CASE("what samples as root can't open files in a way that no filter sees, and may become others") {
  REQUIRE(::geteuid() == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    confine_sampler();
    open_how how{};
    const bool hidden = ::syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof how) >= 0 || errno != ENOSYS;
    const bool entered = ::chroot("/") == 0;
    const bool became = become({{}, 65534, 65534}, 0).has_value();
    ::_exit((hidden ? 1 : 0) | (entered ? 0 : 2) | (became ? 0 : 4));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
