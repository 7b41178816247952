#include "router/agent/api/followers.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace farport::router {

using transport::Task;

Followers::Following::Following(Followers& followers, const Caller& caller)
    : followers_(followers), key_(identity_key(caller)) {
  ++followers_.following_[key_];
  if (followers_.absent_.erase(key_) > 0) followers_.back_.changed();
}

Followers::Following::~Following() {
  if (--followers_.following_[key_] == 0) followers_.following_.erase(key_);
}

void Followers::cut_off(const Caller& caller, Clock::time_point now) {
  if (following_.contains(identity_key(caller))) return;
  absent_.insert_or_assign(identity_key(caller), Absent{fmt::format("{}", caller), now});
  if (absent_.size() <= kMostAbsent) return;
  absent_.erase(std::ranges::min_element(absent_, {}, [](const auto& each) { return each.second.since; }));
}

void Followers::forget_before(Clock::time_point since) {
  if (std::erase_if(absent_, [since](const auto& each) { return each.second.since < since; }) > 0)
    back_.changed();
}

std::vector<Followers::Absent> Followers::absent() const {
  std::vector<Absent> all;
  for (const auto& [key, each] : absent_) all.push_back(each);
  return all;
}

Task<void> Followers::all_back() {
  while (!absent_.empty()) co_await back_.wait();
}

}  // namespace farport::router
