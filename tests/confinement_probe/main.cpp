// Confines itself as one of the agent's processes does, tries what it should and what it should not be able
// to do, and prints what came of each: "NAME ok" or "NAME EACCES". Or prints which attempts stand for which
// promise: "WHAT: NAME NAME".
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "confinement/confinement.hpp"
#include "tests/confinement_probe/attempts.hpp"

namespace {

using farport::confinement::Access;
using farport::probe::Places;

constexpr const char* kUsage =
    "usage: confinement_probe agent|sampler|starter|reader READABLE WRITABLE EXCHANGED OUTSIDE SOCKET\n"
    "       confinement_probe promises\n";

constexpr std::uint8_t set_of(Access access) {
  return static_cast<std::uint8_t>(access);
}

const char* word_of(int error) {
  return error == 0 ? "ok" : ::strerrorname_np(error);
}

void confine_as_agent(const Places& places) {
  farport::confinement::Needs needs;
  needs.files = {{places.readable, set_of(Access::read)},
                 {places.writable, set_of(Access::write)},
                 {places.exchanged, set_of(Access::exchange)},
                 {"/no/such/place", set_of(Access::read)}};
  needs.capabilities = farport::confinement::agent_capabilities();
  const farport::confinement::Confinement confinement = farport::confinement::confine(needs);
  for (const std::string& item : confinement.missing) std::printf("missing %s\n", item.c_str());
}

/// Returns whether there is such a process.
bool confine_as(std::string_view process, const Places& places) {
  if (process == "agent") {
    confine_as_agent(places);
  } else if (process == "sampler") {
    farport::confinement::confine_sampler();
  } else if (process == "starter" || process == "reader") {
    farport::confinement::confine_reader_starter();
    if (process == "reader" && !farport::confinement::confine_parser()) std::printf("missing a filter\n");
  } else {
    return false;
  }
  return true;
}

void print_promises() {
  for (const farport::probe::Promise& promise : farport::probe::promises()) {
    std::printf("%s:", promise.what);
    for (const char* attempt : promise.attempts) std::printf(" %s", attempt);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "promises") {
    print_promises();
    return 0;
  }
  if (argc != 7) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const Places places{argv[2], argv[3], argv[4], argv[5], argv[6], ::socket(AF_INET, SOCK_STREAM, 0), 1};
  farport::probe::prepare(places);
  const std::vector<farport::probe::Attempt> attempts = farport::probe::attempts(places);
  if (!confine_as(argv[1], places)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  for (const farport::probe::Attempt& each : attempts) {
    std::printf("%s %s\n", each.name.c_str(), word_of(each.attempt()));
  }
  return 0;
}
