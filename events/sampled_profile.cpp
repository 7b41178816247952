#include "events/sampled_profile.hpp"

#include <algorithm>

#include "events/providers.hpp"

namespace farport::events {
namespace {

std::chrono::nanoseconds nanoseconds_of(std::int64_t units) {
  constexpr std::int64_t kNanosecondsInUnit = 100;
  return std::chrono::nanoseconds(units * kNanosecondsInUnit);
}

/// Enough intervals to tell the usual one.
constexpr std::size_t kMaxIntervals = std::size_t{1} << 16;

}  // namespace

void SampleTimes::add(std::uint32_t thread, std::chrono::nanoseconds time) {
  first_ = std::min(first_.value_or(time), time);
  last_ = std::max(last_, time);
  if (thread >= last_of_.size()) last_of_.resize(thread + std::size_t{1});
  std::optional<std::chrono::nanoseconds>& before = last_of_[thread];
  if (before && *before <= time && between_.size() < kMaxIntervals) between_.push_back(time - *before);
  before = time;
}

std::chrono::nanoseconds SampleTimes::usual_interval() const {
  if (between_.empty()) return std::chrono::nanoseconds::zero();
  std::vector<std::chrono::nanoseconds> between = between_;
  const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
  std::nth_element(between.begin(), middle, between.end());
  return *middle;
}

std::chrono::nanoseconds SampleTimes::length() const {
  return first_ ? last_ - *first_ : std::chrono::nanoseconds::zero();
}

void SampledProfile::on_trace(const nettrace::TraceHeader& trace) {
  trace_ = trace;
}

void SampledProfile::on_event(const nettrace::Event& event) {
  if (event.definition.provider == kSampleProvider) {
    add_sample(event);
  } else {
    methods_.add(event);
  }
}

void SampledProfile::on_dropped(const nettrace::Thread& /*thread*/, std::uint32_t events) {
  lost_ += events;
}

void SampledProfile::add_sample(const nettrace::Event& event) {
  if (event.stack.empty()) return;
  if (samples_.full()) {
    ++lost_;
    return;
  }
  nettrace::Cursor in(event.payload, event.payload_offset);
  profile::Sample sample;
  sample.time = nanoseconds_of(trace_.time_of(event.timestamp) - trace_.sync_time);
  sample.thread = thread_of(event);
  sample.call = call_of(event.stack);
  sample.waiting = in.u32() == kSampledOutside;
  samples_.add(sample);
  times_.add(sample.thread, sample.time);
}

std::uint32_t SampledProfile::thread_of(const nettrace::Event& event) {
  const auto [known, added] =
      by_thread_.try_emplace(event.thread.id, static_cast<std::uint32_t>(threads_.size()));
  if (added) threads_.push_back({event.thread.id, event.thread.name});
  return known->second;
}

profile::CallId SampledProfile::call_of(const nettrace::Stack& stack) {
  profile::CallId call = profile::kRoot;
  for (std::size_t at = stack.size(); at-- > 0;) {
    const auto [known, added] =
        by_address_.try_emplace(stack[at], static_cast<profile::FrameId>(addresses_.size()));
    if (added) addresses_.push_back(stack[at]);
    call = calls_.add(call, known->second);
  }
  return call;
}

profile::Profile SampledProfile::take() {
  profile::Profile made;
  made.pid = trace_.process_id;
  made.clock = profile::Clock::wall;
  made.began = std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(nanoseconds_of(trace_.sync_time)));
  made.samples = std::move(samples_);
  made.threads = std::move(threads_);
  made.lost = lost_;
  made.samples.sort_by_time();
  made.interval = times_.usual_interval();
  made.duration = times_.length() + made.interval;
  name_calls(made);
  return made;
}

void SampledProfile::name_calls(profile::Profile& made) const {
  std::vector<profile::FrameId> frames;
  frames.reserve(addresses_.size());
  for (const std::uint64_t address : addresses_)
    frames.push_back(made.frames.add(methods_.frame_of(address)));
  // Callers have lower numbers than their callees.
  std::vector<profile::CallId> calls{profile::kRoot};
  calls.reserve(calls_.size());
  for (profile::CallId call = 1; call < calls_.size(); ++call)
    calls.push_back(made.calls.add(calls[calls_.caller(call)], frames[calls_.frame(call)]));
  made.samples.remap_calls(calls);
}

namespace {

/// More threads than a runtime can have.
constexpr std::size_t kMaxThreads = std::size_t{1} << 16;
/// Limit for all stacks together. A runtime writes at most a hundred addresses per stack.
constexpr std::size_t kMaxStackAddresses = std::size_t{4} << 20;

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
  const bool room = kept_ - had + event.stack.size() <= kMaxStackAddresses;
  if (!room || (known == threads_.end() && threads_.size() == kMaxThreads)) {
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
