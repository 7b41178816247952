// A call tree from the root outwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/call_tree.hpp"

namespace farport::profile {

class Children {
 public:
  explicit Children(const CallTree& calls);
  /// What `call` has called, in the order in which it was added.
  [[nodiscard]] std::span<const CallId> of(CallId call) const {
    return std::span(children_).subspan(begins_[call], begins_[call + 1] - begins_[call]);
  }

 private:
  std::vector<std::uint32_t> begins_;  ///< Of each call, where its children begin; one more for the end.
  std::vector<CallId> children_;
};

}  // namespace farport::profile
