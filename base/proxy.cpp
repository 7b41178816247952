#include "base/proxy.hpp"

#include <algorithm>
#include <vector>

#include "base/text.hpp"

namespace farport {
namespace {

constexpr std::string_view kScheme = "http://";
constexpr std::uint16_t kDefaultPort = 80;

/// Percent-decodes the text. Empty if a percent sign is not followed by two hexadecimal digits.
std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    const auto code = number_in<std::uint8_t>(text.substr(i + 1, 2), 16);
    if (!code || text.size() < i + 3) return std::nullopt;
    plain += static_cast<char>(*code);
    i += 2;
  }
  return plain;
}

/// Whether an address is in a network such as "10.0.0.0/8".
bool is_in_network(const std::vector<std::uint8_t>& address, std::string_view network) {
  const std::size_t slash = network.find('/');
  const std::vector<std::uint8_t> base = ip_address_bytes(std::string(network.substr(0, slash)));
  if (base.empty() || base.size() != address.size()) return false;
  std::size_t bits = base.size() * 8;
  if (slash != std::string_view::npos) {
    const auto given = number_in<std::size_t>(network.substr(slash + 1));
    if (!given || *given > bits) return false;
    bits = *given;
  }
  for (std::size_t i = 0; i < base.size() && bits > 0; ++i) {
    const std::size_t here = std::min<std::size_t>(bits, 8);
    const auto mask = static_cast<std::uint8_t>(0xFF << (8 - here));
    if ((base[i] & mask) != (address[i] & mask)) return false;
    bits -= here;
  }
  return true;
}

/// Whether the host is the domain or in it, regardless of case (RFC 4343).
bool is_in_domain(std::string_view host, std::string_view domain) {
  if (host.size() < domain.size()) return false;
  const std::string_view before = host.substr(0, host.size() - domain.size());
  return equal_without_case(host.substr(before.size()), domain) && (before.empty() || before.ends_with('.'));
}

/// Whether an entry of a NO_PROXY list matches the host.
bool is_meant(std::string_view entry, const std::string& host) {
  if (entry == "*") return true;
  if (entry.starts_with('[') && entry.ends_with(']')) entry = entry.substr(1, entry.size() - 2);
  const std::vector<std::uint8_t> address = ip_address_bytes(host);
  if (!address.empty()) return is_in_network(address, entry);
  if (entry.starts_with('.')) entry.remove_prefix(1);
  return !entry.empty() && is_in_domain(host, entry);
}

}  // namespace

std::string Proxy::text() const {
  return authority(host, port);
}

Result<Proxy> parse_proxy(std::string_view url) {
  const auto wrong = [](std::string why) {
    return fail("use", "the proxy", std::move(why),
                "write http://HOST:PORT or http://NAME:PASSWORD@HOST:PORT");
  };
  if (url.starts_with(kScheme)) url.remove_prefix(kScheme.size());
  if (url.find("://") != std::string_view::npos) return wrong("only http:// proxies are known");
  Proxy proxy;
  const std::size_t at = url.rfind('@');
  if (at != std::string_view::npos) {
    const auto user_info = decoded(url.substr(0, at));
    if (!user_info) return wrong("its user or password has an invalid %-escape");
    proxy.user_info = *user_info;
    url.remove_prefix(at + 1);
  }
  if (url.ends_with('/')) url.remove_suffix(1);
  const std::size_t bracket = url.find(']');
  const std::size_t colon = url.find(':', bracket == std::string_view::npos ? 0 : bracket);
  proxy.host = url.substr(0, colon);
  if (proxy.host.starts_with('[') && proxy.host.ends_with(']'))
    proxy.host = proxy.host.substr(1, proxy.host.size() - 2);
  proxy.port = kDefaultPort;
  if (colon != std::string_view::npos) {
    const auto port = number_in<std::uint16_t>(url.substr(colon + 1));
    if (!port || *port == 0) return wrong("its port is no number from 1 to 65535");
    proxy.port = *port;
  }
  const bool plain =
      std::all_of(proxy.host.begin(), proxy.host.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (proxy.host.empty() || !plain || proxy.host.find_first_of("/?#") != std::string::npos)
    return wrong("it has no host");
  return proxy;
}

bool goes_direct(std::string_view no_proxy, const std::string& host) {
  const std::vector<std::uint8_t> address = ip_address_bytes(host);
  if (is_in_domain(host, "localhost") || is_in_network(address, "127.0.0.0/8") ||
      is_in_network(address, "::1"))
    return true;
  while (!no_proxy.empty()) {
    std::string_view entry = take_until(no_proxy, ',');
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    if (is_meant(entry, host)) return true;
  }
  return false;
}

}  // namespace farport
