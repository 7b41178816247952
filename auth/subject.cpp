#include "auth/subject.hpp"

#include <charconv>

namespace farport::auth {
namespace {

bool set(Identity& identity, std::string_view kind, std::string value) {
  if (kind == "CN") {
    identity.common_name = std::move(value);
  } else if (kind == "OU") {
    identity.organizational_units.push_back(std::move(value));
  } else if (kind == "DNS") {
    identity.dns.push_back(std::move(value));
  } else if (kind == "URI") {
    identity.uris.push_back(std::move(value));
  } else if (kind == "IP") {
    identity.ips.push_back(std::move(value));
  } else if (kind == "PIN") {
    identity.spki_pin = std::move(value);
  } else if (kind == "LOCAL") {
    uid_t user = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), user);
    if (error != std::errc() || end != value.data() + value.size()) return false;
    identity.local = user;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Result<Identity> parse_identity(std::string_view text) {
  Identity identity;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t equals = part.find('=');
    const bool whole = equals != std::string_view::npos && equals + 1 < part.size();
    if (!whole || !set(identity, part.substr(0, equals), std::string(part.substr(equals + 1)))) {
      return fail(
          "use the identity", text,
          "\"" + std::string(part) + "\" is no CN, OU, DNS, URI, IP or PIN, and no LOCAL with a number",
          "write for example CN=alice or CN=alice,OU=oncall");
    }
  }
  if (text.empty()) return fail("use the identity", text, "it is empty", "write for example CN=alice");
  return identity;
}

}  // namespace farport::auth
