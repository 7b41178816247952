#include "router/handshakes.hpp"

#include <algorithm>
#include <utility>

namespace farport::router {

Handshakes::Entry::Entry(Handshakes& all, const std::string& peer, std::function<void()> end)
    : all_(all), host_(peer.substr(0, peer.rfind(':'))), end_(std::move(end)), number_(all.next_number_++) {
  all_.by_host_[host_].push_back(this);
  ++all_.count_;
  if (all_.count_ > all_.limit_) all_.make_room();
}

Handshakes::Entry::~Entry() {
  if (!ended_) all_.remove(*this);
}

void Handshakes::remove(const Entry& entry) {
  const auto host = by_host_.find(entry.host_);
  host->second.remove(const_cast<Entry*>(&entry));
  if (host->second.empty()) by_host_.erase(host);
  --count_;
}

void Handshakes::make_room() {
  const auto worst = std::max_element(by_host_.begin(), by_host_.end(), [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() < b.second.size();
    return a.second.front()->number_ > b.second.front()->number_;
  });
  Entry& oldest = *worst->second.front();
  remove(oldest);
  oldest.ended_ = true;
  oldest.end_();
}

}  // namespace farport::router
