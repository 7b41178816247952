// fake_runtime: plays .NET runtimes on listen ports, for load, faults and malformed answers. Its own epoll
// loop, so that it can't share a mistake with farport's transport.
#include <csignal>
#include <cstdio>
#include <stdexcept>

#include "dump.hpp"
#include "options.hpp"
#include "server.hpp"

namespace {

volatile std::sig_atomic_t stopped = 0;

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
