#include "router/agent/runtimes/start_watch.hpp"

#include <chrono>
#include <csignal>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;
using namespace std::chrono_literals;

namespace {

/// A process that waits, or keeps a processor busy, until it is killed.
class Child {
 public:
  explicit Child(bool is_busy) : pid_(::fork()) {
    while (pid_ == 0) {
      if (!is_busy) ::pause();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

std::chrono::milliseconds time_until_over(pid_t pid) {
  const auto begin = std::chrono::steady_clock::now();
  StartWatch start(pid);
  while (!start.is_over()) std::this_thread::sleep_for(20ms);
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
}

}  // namespace

TEST_CASE("a process that waits has started when it is a second old", "[router]") {
  const Child child(false);
  CHECK(time_until_over(child.pid()) >= 900ms);
  CHECK(time_until_over(child.pid()) < 900ms);
}

TEST_CASE("a process that is busy has started when it has had a second of a processor", "[router]") {
  const Child child(true);
  CHECK(time_until_over(child.pid()) >= 900ms);
  CHECK(StartWatch(child.pid()).is_over());
}

TEST_CASE("nothing is waited for where a process is not to be seen", "[router]") {
  CHECK(StartWatch(0).is_over());
  pid_t gone = 0;
  {
    const Child child(false);
    gone = child.pid();
  }
  CHECK(StartWatch(gone).is_over());
}
