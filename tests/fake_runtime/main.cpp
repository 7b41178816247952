// fake_runtime: plays .NET runtimes on listen ports, for load, faults and malformed answers. Its own epoll
// loop, so that it can't share a mistake with farport's transport.
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include "dump.hpp"
#include "options.hpp"
#include "server.hpp"

namespace {

volatile std::sig_atomic_t stopped = 0;

/// CoreCLR has a thread of this name from its start on, by which it is told from a program that was compiled
/// ahead of time.
void have_its_thread() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  // Signals are the first thread's, which waits for them.
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread waiting([] {
    for (;;) pause();
  });
  pthread_setname_np(waiting.native_handle(), ".NET SynchManag");
  waiting.detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace farport::fake;
  try {
    const Options options = parse_options(argc, argv);
    if (!options.write_dump.empty()) {
      write_dump(options.write_dump, options.dump_size);
      return 0;
    }
    std::signal(SIGPIPE, SIG_IGN);
    struct sigaction action {};
    action.sa_handler = [](int) { stopped = 1; };
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    have_its_thread();
    Server server(options);
    take_on(options.burden);
    std::puts("ready");
    std::fflush(stdout);
    server.run(stopped);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake_runtime: %s\n", error.what());
    return 2;
  }
}
