#include "router/agent/sampler/stack_tree.hpp"

#include <algorithm>

namespace farport::router {
namespace {

constexpr std::uint64_t kMostCalls = 1U << 18U;
/// Each, in a map.
constexpr std::uint64_t kCallBytes = 64;

/// Within the instruction where it was interrupted or, further out, which called: what is known of a caller
/// is the place behind its call, where something else may begin.
std::uint64_t within(const std::vector<std::uint64_t>& part, std::size_t place) {
  return place == 0 ? part[0] : part[place] - 1;
}

}  // namespace

StackTree::StackTree(std::uint64_t kernel_base, std::uint64_t memory)
    : kernel_base_(kernel_base), most_calls_(std::min(memory / kCallBytes, kMostCalls)) {}

CallNumber StackTree::add(const PerfSample& sample, SampleSink& to) {
  CallNumber caller = 0;
  for (std::size_t i = sample.user.size(); i-- > 0;) {
    // What looks like the kernel's is none: a process may put anything on its stacks.
    const std::uint64_t address = within(sample.user, i);
    if (!is_kernel_address(address)) caller = call(caller, address, to);
  }
  for (std::size_t i = sample.kernel.size(); i-- > 0;) {
    const std::uint64_t address = within(sample.kernel, i) - kernel_base_;
    if (is_kernel_address(address)) caller = call(caller, address, to);
  }
  return caller;
}

CallNumber StackTree::call(CallNumber caller, std::uint64_t address, SampleSink& to) {
  const Edge edge{caller, address};
  const auto known = calls_.find(edge);
  if (known != calls_.end()) return known->second;
  if (calls_.size() >= most_calls_) return caller;
  const auto number = static_cast<CallNumber>(calls_.size() + 1);
  calls_.emplace(edge, number);
  to.on_call({caller, address});
  return number;
}

std::vector<std::uint64_t> StackTree::addresses() const {
  std::vector<std::uint64_t> all;
  all.reserve(calls_.size());
  for (const auto& [edge, number] : calls_) all.push_back(edge.address);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace farport::router
