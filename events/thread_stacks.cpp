#include "events/thread_stacks.hpp"

#include "events/providers.hpp"

namespace farport::events {
namespace {

/// More than a runtime can have.
constexpr std::size_t kMostThreads = std::size_t{1} << 16;
/// Of all stacks. A runtime writes a hundred of a stack at most.
constexpr std::size_t kMostStackAddresses = std::size_t{4} << 20;

}  // namespace

void ThreadStacks::on_event(const nettrace::Event& event) {
  if (event.definition.provider == kSampleProvider) {
    add_sample(event);
  } else {
    methods_.add(event);
  }
}

void ThreadStacks::add_sample(const nettrace::Event& event) {
  if (event.stack.empty()) return;
  const auto known = threads_.find(event.thread.id);
  const std::size_t had = known == threads_.end() ? 0 : known->second.stack.size();
  const bool room = kept_ - had + event.stack.size() <= kMostStackAddresses;
  if (!room || (known == threads_.end() && threads_.size() == kMostThreads)) {
    ++left_out_;
    return;
  }
  kept_ += event.stack.size() - had;
  nettrace::Cursor in(event.payload, event.payload_offset);
  Last& last = threads_[event.thread.id];
  last.name = event.thread.name;
  last.managed = in.u32() != kSampledOutside;
  last.stack.clear();
  for (std::size_t at = 0; at < event.stack.size(); ++at) last.stack.push_back(event.stack[at]);
  sampled_.add(last.stack);
}

void ThreadStacks::each(const std::function<void(const ThreadStack&)>& take) const {
  for (const auto& [thread, last] : threads_) {
    std::vector<std::string> frames;
    for (const std::uint64_t address : last.stack) {
      const profile::Frame frame = methods_.frame_of(address);
      frames.push_back((frame.module.empty() ? "" : frame.module + "!") + label_of(frame));
    }
    take({thread, last.name, last.managed, std::move(frames)});
  }
}

}  // namespace farport::events
