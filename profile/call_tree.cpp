#include "profile/call_tree.hpp"

#include <algorithm>

namespace farport::profile {

CallId CallTree::add(CallId caller, FrameId frame) {
  const std::uint64_t edge = std::uint64_t{caller} << 32 | frame;
  const auto known = by_edge_.find(edge);
  if (known != by_edge_.end()) return known->second;
  if (calls_.size() == kMostCalls) return caller;
  const auto call = static_cast<CallId>(calls_.size());
  calls_.push_back({caller, frame});
  by_edge_.emplace(edge, call);
  return call;
}

std::vector<FrameId> CallTree::stack(CallId call) const {
  std::vector<FrameId> frames;
  for (; call != kRoot; call = caller(call)) frames.push_back(frame(call));
  std::reverse(frames.begin(), frames.end());
  return frames;
}

}  // namespace farport::profile
