#include "profile/children.hpp"

#include <numeric>

namespace farport::profile {

Children::Children(const CallTree& calls) : begins_(calls.size() + 1), children_(calls.size() - 1) {
  const auto size = static_cast<CallId>(calls.size());
  for (CallId call = kRoot + 1; call < size; ++call) ++begins_[calls.caller(call) + 1];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  std::vector<std::uint32_t> next = begins_;
  for (CallId call = kRoot + 1; call < size; ++call) children_[next[calls.caller(call)]++] = call;
}

}  // namespace farport::profile
