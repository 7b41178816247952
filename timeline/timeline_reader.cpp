#include "timeline/timeline_reader.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>
#include <variant>

#include "events/providers.hpp"

namespace farport::timeline {
namespace {

/// Events of the runtime's own provider (ClrEtwAll.man).
constexpr std::uint32_t kCollectionStarts = 1;
constexpr std::uint32_t kResumed = 3;
constexpr std::uint32_t kSuspending = 9;
constexpr std::uint32_t kThreadsAdjusted = 55;
constexpr std::uint32_t kContentionBegins = 81;
constexpr std::uint32_t kContentionEnds = 91;
/// Reasons for which the runtime suspends its threads: a collection, and preparing one.
constexpr std::uint32_t kForCollection = 1;
constexpr std::uint32_t kForPreparation = 6;
constexpr std::uint32_t kMaxGeneration = 2;
/// Why the thread pool changes its size: its threads don't get on.
constexpr std::uint32_t kStarvation = 6;
/// The counters of one second come within this time.
constexpr std::chrono::milliseconds kOneMoment{500};
constexpr double kCounterInterval = 1;
constexpr double kMaxWaitNanoseconds = 1e15;

/// Threads that may wait for a lock at a time, and the frames of each that are kept.
constexpr std::size_t kMaxOpenWaits = 4096;
constexpr std::size_t kMaxWaitFrames = 128;

std::vector<std::uint64_t> addresses_of(const nettrace::Stack& stack) {
  const std::size_t frames = std::min(stack.size(), kMaxWaitFrames);
  std::vector<std::uint64_t> addresses;
  addresses.reserve(frames);
  for (std::size_t at = 0; at < frames; ++at) addresses.push_back(stack[at]);
  return addresses;
}

std::size_t size_of(const std::vector<std::uint64_t>& stack) {
  return stack.size() * sizeof(stack.front());
}

double f64(nettrace::Cursor& in) {
  const std::uint64_t bits = in.u64();
  return std::bit_cast<double>(bits);
}

}  // namespace

void TimelineReader::on_trace(const nettrace::TraceHeader& trace) {
  trace_ = trace;
  vitals_.emplace(kCounterInterval, trace.processors);
}

void TimelineReader::on_event(const nettrace::Event& event) {
  if (auto entry = events::read_log_entry(trace_, event)) {
    // Nobody shows these.
    entry->arguments = {};
    entry->exception = {};
    entry->event_name = {};
    entry->trace_id = {};
    entry->span_id = {};
    const std::size_t size = sizeof(*entry) + entry->category.size() + entry->message.size();
    left_out_ += logs_.add(std::move(*entry), size);
  } else if (auto thrown = events::read_exception(trace_, event)) {
    const std::size_t size =
        sizeof(*thrown) + thrown->type.size() + thrown->message.size() + size_of(thrown->stack);
    on_stacks_.add(thrown->stack);
    left_out_ += thrown_.add(std::move(*thrown), size);
  } else if (event.definition.provider == events::kRuntimeProvider) {
    take_runtime_event(event);
  } else if (event.definition.provider == events::kSampleProvider) {
    take_sample(event);
  } else {
    take_measurement(event);
  }
  methods_.add(event);
}

void TimelineReader::take_measurement(const nettrace::Event& event) {
  const auto read = decoder_.read(trace_, event);
  const auto* const measurement = std::get_if<events::Measurement>(&read);
  if (measurement == nullptr) return;
  if (measured_ && measurement->time - *measured_ > kOneMoment) end_moment();
  if (!measured_) measured_ = measurement->time;
  vitals_->take(*measurement);
}

void TimelineReader::take_sample(const nettrace::Event& event) {
  if (event.stack.empty()) return;
  AddressedSample sample{{events::time_of(trace_, event), event.thread.id}, addresses_of(event.stack)};
  on_stacks_.add(sample.stack);
  const std::size_t size = sizeof(sample) + size_of(sample.stack);
  left_out_ += samples_.add(std::move(sample), size);
}

void TimelineReader::end_moment() {
  if (!measured_) return;
  add_newest(moments_, Moment{*measured_, vitals_->vitals()});
  measured_.reset();
}

void TimelineReader::take_runtime_event(const nettrace::Event& event) {
  nettrace::Cursor in(event.payload, event.payload_offset);
  const Time time = events::time_of(trace_, event);
  switch (event.definition.event_id) {
    case kSuspending: {
      const std::uint32_t reason = in.u32();
      // A preparation is that of a collection beside the running threads, which is always one of
      // generation 2.
      if (reason == kForPreparation) add_newest(steps_, Step{time, Step::Kind::suspending, kMaxGeneration});
      if (reason == kForCollection) add_newest(steps_, Step{time, Step::Kind::suspending});
      return;
    }
    case kCollectionStarts:
      in.u32();  // Its number.
      add_newest(steps_, Step{time, Step::Kind::started, in.u32()});
      return;
    case kResumed:
      add_newest(steps_, Step{time, Step::Kind::resumed});
      return;
    case kThreadsAdjusted:
      f64(in);   // Its throughput.
      in.u32();  // The number of its threads.
      if (in.u32() == kStarvation) add_newest(starved_, time);
      return;
    case kContentionBegins:
      if (open_waits_.size() == kMaxOpenWaits) {
        left_out_ += open_waits_.size();
        open_waits_.clear();
      }
      open_waits_.insert_or_assign(event.thread.id, OpenWait{time, addresses_of(event.stack)});
      return;
    case kContentionEnds:
      return end_wait(event);
    default:
      return;
  }
}

void TimelineReader::end_wait(const nettrace::Event& event) {
  nettrace::Cursor in(event.payload, event.payload_offset);
  in.u8();   // Whether the lock is a managed one.
  in.u16();  // The runtime's instance.
  const double nanoseconds = f64(in);
  if (in.failed() || !(nanoseconds >= 0 && nanoseconds <= kMaxWaitNanoseconds)) return;
  const auto open = open_waits_.extract(event.thread.id);
  AddressedWait wait;
  wait.wait.length = std::chrono::round<Length>(std::chrono::duration<double, std::nano>(nanoseconds));
  wait.wait.begun = events::time_of(trace_, event) - wait.wait.length;
  wait.wait.thread = event.thread.id;
  if (!open.empty()) wait.stack = open.mapped().stack;
  on_stacks_.add(wait.stack);
  const std::size_t size = sizeof(wait) + size_of(wait.stack);
  left_out_ += waits_.add(std::move(wait), size);
}

/// From each suspension for a collection to the end of it.
std::vector<Pause> TimelineReader::pauses() {
  std::ranges::stable_sort(steps_, {}, &Step::time);
  std::vector<Pause> pauses;
  const Step* suspending = nullptr;
  std::uint32_t generation = 0;
  for (const Step& step : steps_) {
    if (step.kind == Step::Kind::suspending) {
      suspending = &step;
    } else if (step.kind == Step::Kind::started) {
      generation = step.generation;
    } else if (suspending != nullptr) {
      pauses.push_back(
          {suspending->time, step.time - suspending->time, std::max(suspending->generation, generation)});
      suspending = nullptr;
    }
  }
  return pauses;
}

StackId TimelineReader::stack_id(const std::vector<std::uint64_t>& addresses, Timeline& into) {
  const auto [known, is_new] = stack_ids_.try_emplace(addresses, static_cast<StackId>(into.stacks.size()));
  if (!is_new) return known->second;
  auto names = methods_.names_of(addresses);
  events::drop_dispatch(names);
  auto& stack = into.stacks.emplace_back();
  for (std::string& name : names) {
    const auto [frame, added] =
        frame_ids_.try_emplace(std::move(name), static_cast<std::uint32_t>(into.frames.size()));
    if (added) into.frames.push_back(frame->first);
    stack.push_back(frame->second);
  }
  return known->second;
}

Timeline TimelineReader::take(Process process) {
  end_moment();
  Timeline made;
  made.process = std::move(process);
  made.pid = trace_.process_id;
  made.left_out = left_out_;
  made.moments.assign(moments_.begin(), moments_.end());
  made.pauses = pauses();
  made.starved.assign(starved_.begin(), starved_.end());
  for (const auto& [wait, size] : waits_.items()) {
    made.lock_waits.push_back(wait.wait);
    made.lock_waits.back().stack = stack_id(wait.stack, made);
  }
  for (const auto& [thrown, size] : thrown_.items())
    made.exceptions.push_back(
        {thrown.time, thrown.thread, thrown.type, thrown.message, stack_id(thrown.stack, made)});
  for (const auto& [entry, size] : logs_.items()) made.logs.push_back(entry);
  for (const auto& [sample, size] : samples_.items()) {
    made.samples.push_back(sample.sample);
    made.samples.back().stack = stack_id(sample.stack, made);
  }

  std::optional<std::pair<Time, Time>> span;
  const auto sort = [&span](auto& items, auto time_of) {
    std::ranges::stable_sort(items, {}, time_of);
    if (items.empty()) return;
    const Time first = std::invoke(time_of, items.front());
    const Time last = std::invoke(time_of, items.back());
    span =
        span ? std::pair(std::min(span->first, first), std::max(span->second, last)) : std::pair(first, last);
  };
  sort(made.moments, &Moment::time);
  sort(made.pauses, &Pause::begun);
  sort(made.lock_waits, &LockWait::begun);
  sort(made.starved, std::identity());
  sort(made.exceptions, &Thrown::time);
  sort(made.logs, &events::LogEntry::time);
  sort(made.samples, &Sample::time);
  if (span) std::tie(made.begin, made.end) = *span;
  return made;
}

}  // namespace farport::timeline
