#include "base/process_stat.hpp"

#include <thread>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using farport::process_stat;
using farport::thread_stats;
using farport::waiting_in;

TEST_CASE("a process that ends while it is looked at is not there", "[base]") {
  char name[] = "true";
  char* const arguments[] = {name, nullptr};
  for (int i = 0; i < 200; ++i) {
    pid_t pid = 0;
    REQUIRE(::posix_spawnp(&pid, name, nullptr, nullptr, arguments, environ) == 0);
    // Reaped at any moment of the look.
    std::thread reaper([pid] { ::waitpid(pid, nullptr, 0); });
    while (process_stat(pid)) {
      std::ignore = waiting_in(pid);
      std::ignore = thread_stats(pid, 4);
    }
    reaper.join();
  }
  CHECK_FALSE(process_stat(0));
  CHECK(process_stat(::getpid())->parent == ::getppid());
}
