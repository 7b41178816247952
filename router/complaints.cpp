#include "router/complaints.hpp"

namespace farport::router {
namespace {

constexpr std::uint64_t kSilenceMs = 60'000;
constexpr std::size_t kMaxKinds = 256;

}  // namespace

bool Complaints::add(const std::string& kind, const std::string& message) {
  const std::uint64_t now = loop_.now_ms();
  std::erase_if(logged_, [&](const auto& entry) { return now - entry.second >= kSilenceMs; });
  if (logged_.size() >= kMaxKinds || !logged_.emplace(kind, now).second) {
    log_->debug("{}", message);
    return false;
  }
  log_->warn("{}", message);
  return true;
}

}  // namespace farport::router
