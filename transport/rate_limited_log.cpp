#include "transport/rate_limited_log.hpp"

namespace farport::transport {
namespace {

constexpr std::uint64_t kMinuteMs = 60'000;
constexpr std::size_t kMaxKinds = 256;

}  // namespace

bool RateLimitedLog::add(const std::string& kind, const std::string& message, std::size_t a_minute) {
  const bool allowed = allows(kind, a_minute);
  if (allowed) {
    log_->warn("{}", message);
  } else {
    log_->debug("{}", message);
  }
  return allowed;
}

bool RateLimitedLog::allows(const std::string& kind, std::size_t a_minute) {
  const std::uint64_t now = loop_.now_ms();
  std::erase_if(logged_, [&](const auto& entry) { return now - entry.second.since >= kMinuteMs; });
  const auto known = logged_.find(kind);
  const bool has_room = known == logged_.end() ? logged_.size() < kMaxKinds : known->second.count < a_minute;
  if (!has_room) return false;
  Logged& logged = known == logged_.end() ? logged_.emplace(kind, Logged{now}).first->second : known->second;
  ++logged.count;
  return true;
}

}  // namespace farport::transport
