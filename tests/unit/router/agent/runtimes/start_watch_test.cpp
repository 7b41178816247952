#include "router/agent/runtimes/start_watch.hpp"

#include <chrono>
#include <thread>

#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/unit/child.hpp"

using namespace farport;
using namespace farport::router;
using farport::test::ChildProcess;
using namespace std::chrono_literals;

namespace {

void wait_for_ever() {
  for (;;) ::pause();
}

void keep_a_processor_busy() {
  for (volatile bool goes_on = true; goes_on;) {
  }
}

std::chrono::milliseconds time_until_over(pid_t pid) {
  const auto begin = std::chrono::steady_clock::now();
  StartWatch start(pid);
  while (!start.is_over()) std::this_thread::sleep_for(20ms);
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
}

}  // namespace

TEST_CASE("a process that waits has started when it is a second old", "[router]") {
  const ChildProcess child(wait_for_ever);
  CHECK(time_until_over(child.pid()) >= 900ms);
  CHECK(time_until_over(child.pid()) < 900ms);
}

TEST_CASE("a process that is busy has started when it has had a second of a processor", "[router]") {
  const ChildProcess child(keep_a_processor_busy);
  CHECK(time_until_over(child.pid()) >= 900ms);
  CHECK(StartWatch(child.pid()).is_over());
}

TEST_CASE("nothing is waited for where a process is not to be seen", "[router]") {
  CHECK(StartWatch(0).is_over());
  pid_t gone = 0;
  {
    const ChildProcess child(wait_for_ever);
    gone = child.pid();
  }
  CHECK(StartWatch(gone).is_over());
}
