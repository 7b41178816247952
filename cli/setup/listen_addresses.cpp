#include "cli/setup/listen_addresses.hpp"

namespace farport::cli {

Result<std::vector<transport::Address>> listen_addresses(const std::vector<config::Address>& addresses) {
  std::vector<transport::Address> all;
  for (const config::Address& address : addresses) {
    const auto resolved = transport::resolve_here(address.host, address.port);
    if (!resolved) return tl::unexpected(resolved.error());
    all.insert(all.end(), resolved->begin(), resolved->end());
  }
  return all;
}

}  // namespace farport::cli
