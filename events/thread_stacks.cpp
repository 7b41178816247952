#include "events/thread_stacks.hpp"

#include "events/providers.hpp"

namespace farport::events {
namespace {

/// More than a runtime can have.
constexpr std::size_t kMostThreads = std::size_t{1} << 16;

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
  if (threads_.size() == kMostThreads && !threads_.contains(event.thread.id)) return;
  nettrace::Cursor in(event.payload, event.payload_offset);
  Last& last = threads_[event.thread.id];
  last.name = event.thread.name;
  last.managed = in.u32() != kSampledOutside;
  last.stack.clear();
  for (std::size_t at = 0; at < event.stack.size(); ++at) last.stack.push_back(event.stack[at]);
  sampled_.add(last.stack);
}

std::vector<ThreadStack> ThreadStacks::take() const {
  std::vector<ThreadStack> all;
  all.reserve(threads_.size());
  for (const auto& [thread, last] : threads_) {
    std::vector<std::string> frames;
    for (const std::uint64_t address : last.stack) {
      const profile::Frame frame = methods_.frame_of(address);
      frames.push_back((frame.module.empty() ? "" : frame.module + "!") + label_of(frame));
    }
    all.push_back({thread, last.name, last.managed, std::move(frames)});
  }
  return all;
}

}  // namespace farport::events
