// Fuzzes the configuration file: it is read, or all that is wrong with it is told with its place.
#include <string>
#include <vector>

#include "config/file.hpp"
#include "config/values.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport::config;
using farport::fuzz::require;

namespace {

void check_errors(const Problems& errors, const std::string& path) {
  require(!errors.empty(), "a file that is refused has an error");
  for (const std::string& error : errors) {
    require(error.starts_with(path + ":"), "an error names the file");
    const char line = error[path.size() + 1];
    require(line >= '1' && line <= '9', "an error names the line");
  }
}

void check_addresses(const std::vector<Address>& addresses) {
  for (const Address& address : addresses) {
    const auto again = parse_address(to_string(address));
    require(again && *again == address, "an address can be read from its text");
  }
}

void check_file(const Configuration& file) {
  check_addresses(file.listen);
  require(file.dump.max_bytes > 0 && file.dump.keep_free_bytes > 0, "a size is above zero");
  for (const Milliseconds time :
       {file.rescan, file.limits.handshake_timeout, file.limits.first_message_timeout}) {
    require(time > Milliseconds(0), "a duration is above zero");
  }
  for (const auto& [name, remote] : file.remotes) {
    require(remote.profile == name, "a remote knows its profile");
    check_addresses(remote.addresses);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = "/etc/farport/agent.toml";
  const auto file = parse_file(std::string(reinterpret_cast<const char*>(data), size), path);
  if (file) {
    check_file(*file);
  } else {
    check_errors(file.error(), path);
  }
  return 0;
}
