#include "transport/handshake_limiter.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <arpa/inet.h>

namespace farport::transport {
namespace {

constexpr std::size_t kSiteBytes = 8;

}  // namespace

std::string network_of(const std::string& peer) {
  std::string host = peer.substr(0, peer.rfind(':'));
  if (!host.starts_with('[')) return host;
  in6_addr address{};
  host = host.substr(1, host.find_first_of("]%") - 1);
  if (::inet_pton(AF_INET6, host.c_str(), &address) != 1) return host;
  // RFC 6177: a site has at least a /64, and may use any address in it.
  std::fill(std::begin(address.s6_addr) + kSiteBytes, std::end(address.s6_addr), 0);
  std::array<char, INET6_ADDRSTRLEN> text{};
  return ::inet_ntop(AF_INET6, &address, text.data(), text.size());
}

HandshakeLimiter::Entry::Entry(HandshakeLimiter& all, const std::string& peer, std::function<void()> end)
    : all_(all), host_(network_of(peer)), end_(std::move(end)), number_(all.next_number_++) {
  all_.by_host_[host_].push_back(this);
  ++all_.count_;
  if (all_.count_ > all_.limit_) all_.make_room();
}

HandshakeLimiter::Entry::~Entry() {
  if (!ended_) all_.remove(*this);
}

void HandshakeLimiter::remove(const Entry& entry) {
  const auto host = by_host_.find(entry.host_);
  host->second.remove(const_cast<Entry*>(&entry));
  if (host->second.empty()) by_host_.erase(host);
  --count_;
}

void HandshakeLimiter::make_room() {
  const auto worst = std::max_element(by_host_.begin(), by_host_.end(), [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() < b.second.size();
    return a.second.front()->number_ > b.second.front()->number_;
  });
  Entry& oldest = *worst->second.front();
  remove(oldest);
  oldest.ended_ = true;
  oldest.end_();
}

}  // namespace farport::transport
