// Stacks, which mostly begin alike, as one tree.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/frame.hpp"

namespace farport::profile {

/// A call in the tree: the way to it from the root is a stack, the outermost frame first.
using CallId = std::uint32_t;
/// The empty stack.
inline constexpr CallId kRoot = 0;
/// A stack that would make more of them ends where they are used up.
inline constexpr std::size_t kMostCalls = std::size_t{1} << 21;

class CallTree {
 public:
  /// The call of `frame` by `caller`, which is added where there is none. With kMostCalls: `caller` itself.
  CallId add(CallId caller, FrameId frame);
  /// Not of the root.
  [[nodiscard]] CallId caller(CallId call) const { return calls_[call].caller; }
  [[nodiscard]] FrameId frame(CallId call) const { return calls_[call].frame; }
  /// The frames on the way to `call`, the outermost first.
  [[nodiscard]] std::vector<FrameId> stack(CallId call) const;
  /// The root included. A call has a greater number than its caller.
  [[nodiscard]] std::size_t size() const { return calls_.size(); }

 private:
  struct Call {
    CallId caller = kRoot;
    FrameId frame = 0;
  };
  std::vector<Call> calls_{Call{}};
  std::unordered_map<std::uint64_t, CallId> by_edge_;
};

}  // namespace farport::profile
