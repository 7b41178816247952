// Confines itself as an agent does, tries what it should and what it should not be able to do, and prints
// what came of each: "NAME ok" or "NAME EACCES".
//
// usage: confinement_probe READABLE WRITABLE EXCHANGED OUTSIDE SOCKET
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "confinement/confinement.hpp"
#include "tests/confinement_probe/attempts.hpp"

namespace {

using farport::confinement::Access;

constexpr std::uint8_t set_of(Access access) {
  return static_cast<std::uint8_t>(access);
}

const char* word_of(int error) {
  return error == 0 ? "ok" : ::strerrorname_np(error);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: confinement_probe READABLE WRITABLE EXCHANGED OUTSIDE SOCKET\n", stderr);
    return 2;
  }
  const farport::probe::Places places{
      argv[1], argv[2], argv[3], argv[4], argv[5], ::socket(AF_INET, SOCK_STREAM, 0), 1};
  farport::probe::prepare(places);
  const std::vector<farport::probe::Attempt> attempts = farport::probe::attempts(places);
  farport::confinement::Needs needs;
  needs.files = {{places.readable, set_of(Access::read)},
                 {places.writable, set_of(Access::write)},
                 {places.exchanged, set_of(Access::exchange)},
                 {"/no/such/place", set_of(Access::read)}};
  needs.capabilities = farport::confinement::agent_capabilities();
  const farport::confinement::Confinement confinement = farport::confinement::confine(needs);
  for (const std::string& item : confinement.missing) std::printf("missing %s\n", item.c_str());
  for (const farport::probe::Attempt& each : attempts) {
    std::printf("%s %s\n", each.name.c_str(), word_of(each.attempt()));
  }
  return 0;
}
