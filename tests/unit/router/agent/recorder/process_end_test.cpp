#include "router/agent/recorder/process_end.hpp"

#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "transport/child_process.hpp"

using namespace farport;
using router::ProcessEnd;
using router::WatchedProcess;

TEST_CASE("how a process has ended is told in words", "[recorder]") {
  CHECK(ProcessEnd{0}.text() == "exit code 0");
  CHECK(ProcessEnd{3 << 8}.text() == "exit code 3");
  CHECK(ProcessEnd{SIGKILL}.text() == "killed by signal 9 (SIGKILL)");
  CHECK(ProcessEnd{SIGABRT | 0x80}.text() == "killed by signal 6 (SIGABRT)");
  CHECK(ProcessEnd{0}.in_order());
  CHECK(!ProcessEnd{3 << 8}.in_order());
}

TEST_CASE("a process is watched to its end", "[recorder]") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const WatchedProcess watch(child, transport::start_time_of(child));
  CHECK(watch.runs());
  CHECK(!watch.end());
  // Another process by that pid is not watched.
  CHECK(!WatchedProcess(child, 1).runs());
  CHECK(!WatchedProcess(0, 0).runs());
  REQUIRE(::kill(child, SIGKILL) == 0);
  // Nobody has asked yet how it ended.
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(watch.ended());
  const auto waiting = watch.end();
  REQUIRE(waiting);
  CHECK(waiting->text() == "killed by signal 9 (SIGKILL)");
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(!watch.runs());
  // Older kernels don't tell any more.
  if (const auto later = watch.end()) CHECK(later->text() == "killed by signal 9 (SIGKILL)");
}
