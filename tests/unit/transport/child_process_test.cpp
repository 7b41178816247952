#include "transport/child_process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

#include <unistd.h>

#include <catch2/catch.hpp>

#include "base/unique_fd.hpp"
#include "transport/timer.hpp"

namespace {

using farport::UniqueFd;
using farport::transport::ChildProcess;
using farport::transport::Loop;
using farport::transport::Milliseconds;
using farport::transport::Task;

struct Running {
  std::unique_ptr<ChildProcess> child;
  pid_t pid = 0;
};

/// A shell that runs the script, which says its pid first.
Running start(Loop& loop, const std::string& script) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  auto child = ChildProcess::start(
      loop, {{"sh", "-c", script + "; echo $$; exec sleep 600"}, {}, {0, writing.get(), 2}});
  REQUIRE(child.has_value());
  writing.reset();
  std::array<char, 16> text{};
  REQUIRE(::read(reading.get(), text.data(), text.size() - 1) > 0);
  return {std::move(*child), static_cast<pid_t>(std::stol(text.data()))};
}

bool exists(pid_t pid) {
  return ::kill(pid, 0) == 0 || errno != ESRCH;
}

Task<void> until_gone(Loop& loop, pid_t pid) {
  while (exists(pid)) co_await farport::transport::sleep(loop, Milliseconds(1));
}

}  // namespace

TEST_CASE("a child that is needed no more ends, and holds nobody up", "[child_process]") {
  Loop loop;
  SECTION("by SIGTERM") {
    Running running = start(loop, "true");
    running.child.reset();
    loop.run(until_gone(loop, running.pid));
  }
  SECTION("by SIGKILL where it takes no other") {
    Running running = start(loop, "trap '' TERM");
    running.child.reset();
    CHECK(exists(running.pid));
    loop.run(until_gone(loop, running.pid));
  }
  SECTION("also where it is stopped") {
    Running running = start(loop, "true");
    ::kill(running.pid, SIGSTOP);
    running.child.reset();
    loop.run(until_gone(loop, running.pid));
  }
}

TEST_CASE("a loop that ends has ended the children that were left to it", "[child_process]") {
  pid_t pid = 0;
  {
    Loop loop;
    pid = start(loop, "trap '' TERM").pid;
    CHECK(exists(pid));
  }
  CHECK_FALSE(exists(pid));
}

TEST_CASE("a child has the streams that it is given, in whatever order", "[child_process]") {
  Loop loop;
  auto pipe = farport::make_pipe(0);
  REQUIRE(pipe.has_value());
  // Its standard error is our standard output, and the other way round; what it reads is empty.
  auto child = ChildProcess::start(
      loop, {{"sh", "-c", "cat; test -t 0 || echo said >&2; exit 7"}, {}, {-1, 2, pipe->writing.get()}});
  REQUIRE(child.has_value());
  pipe->writing.reset();
  CHECK(loop.run((*child)->wait()) == 7);
  std::array<char, 16> text{};
  CHECK(::read(pipe->reading.get(), text.data(), text.size()) == 5);
}

TEST_CASE("how a child ended is told, and what can't be started is said", "[child_process]") {
  Loop loop;
  ::signal(SIGCHLD, SIG_IGN);
  auto killed = ChildProcess::start(loop, {{"sh", "-c", "kill -9 $$"}});
  REQUIRE(killed.has_value());
  CHECK(loop.run((*killed)->wait()) == farport::transport::kKilledBySignal + SIGKILL);
  const auto missing = ChildProcess::start(loop, {{"/nonexistent/program"}});
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().cause == ENOENT);
}
