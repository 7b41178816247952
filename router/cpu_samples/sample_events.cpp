#include "router/cpu_samples/sample_events.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "events/methods.hpp"
#include "events/providers.hpp"
#include "nettrace/append.hpp"

namespace farport::router {
namespace {

using nettrace::append;
using nettrace::append_utf16;

/// The runtime's clock on Linux is CLOCK_MONOTONIC, in nanoseconds.
constexpr std::int64_t kTicksPerSecond = 1'000'000'000;
/// Code has addresses of this size where farport samples.
constexpr std::uint32_t kPointerBytes = 8;
constexpr std::size_t kMaxNativeFunctions = 65'536;
constexpr std::size_t kMaxNamesBytes = std::size_t{4} << 20;
constexpr std::size_t kMaxStack = 512;
constexpr std::size_t kEventsInBlock = 2000;
constexpr nettrace::EventKind kSampleKind{events::kSampleProvider, 0, 0, events::kInformationalLevel, 0};

/// The stacks of samples, each once.
class SampledStacks {
 public:
  explicit SampledStacks(const std::vector<SampledCall>& calls) : calls_(calls) {}

  /// The number of the stack with this innermost call.
  std::uint32_t number_of(CallNumber call) {
    const auto [known, is_new] = numbers_.try_emplace(call, static_cast<std::uint32_t>(all_.size() + 1));
    if (!is_new) return known->second;
    auto& stack = all_.emplace_back();
    for (CallNumber at = call; at != 0 && stack.size() < kMaxStack; at = calls_[at - 1].caller)
      stack.push_back(calls_[at - 1].address);
    return known->second;
  }
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& all() const { return all_; }

 private:
  const std::vector<SampledCall>& calls_;
  std::unordered_map<CallNumber, std::uint32_t> numbers_;
  std::vector<std::vector<std::uint64_t>> all_;
};

std::uint32_t size_in(nettrace::BytesView bytes) {
  return nettrace::Cursor(bytes.first(kSamplesHead), 0).u32();
}

}  // namespace

std::vector<std::byte> SampleEvents::take(nettrace::BytesView bytes) {
  if (has_end_) return {};
  append(held_, bytes);
  std::size_t taken = 0;
  while (!has_end_) {
    const auto rest = nettrace::BytesView(held_).subspan(taken);
    if (rest.size() < kSamplesHead) break;
    const std::size_t size = size_in(rest);
    has_end_ = size > kMaxSamplesBytes;
    if (!has_end_ && rest.size() - kSamplesHead < size) break;
    const Result<void> added = has_end_ ? fail("read", "the samples", "they are longer than they may be")
                                        : add_stream(rest.subspan(kSamplesHead, size));
    if (!added && !left_out_) left_out_ = added.error();
    taken += std::min(kSamplesHead + size, rest.size());
  }
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(taken));
  return std::exchange(ready_, {});
}

Result<void> SampleEvents::add_stream(nettrace::BytesView stream) {
  CpuSamples samples;
  SampleReader reader(samples);
  RETURN_IF_ERROR(reader.read(stream));
  return add(samples);
}

Result<void> SampleEvents::add_kind() {
  if (has_kind_) return {};
  const auto& trace = to_.trace();
  if (!trace || trace->ticks_per_second != kTicksPerSecond || trace->pointer_size != kPointerBytes)
    return fail("join", "the samples", "the recording has another clock, or other addresses");
  has_kind_ = true;
  return to_.add_kind(kSampleKind);
}

Result<void> SampleEvents::add(const CpuSamples& samples) {
  if (!samples.start() || samples.start()->began.count() == 0) return {};
  const auto began = static_cast<std::uint64_t>(samples.start()->began.count());
  SampledStacks stacks(samples.calls());
  std::vector<nettrace::NewEvent> made;
  std::vector<std::byte> payload;
  append(payload, events::kSampledManaged);
  for (const StackSample& sample : samples.samples()) {
    const std::uint64_t time = began + static_cast<std::uint64_t>(sample.time.count());
    if (sample.call == 0 || time < to_.first_time()) continue;
    made.push_back({payload, time, sample.thread, stacks.number_of(sample.call)});
  }
  if (made.empty()) return {};
  RETURN_IF_ERROR(add_kind());
  std::ranges::stable_sort(made, {}, [](const nettrace::NewEvent& each) { return each.time; });
  to_.add_stacks(stacks.all());
  for (std::size_t at = 0; at < made.size(); at += kEventsInBlock) {
    const auto begin = made.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kEventsInBlock, made.size() - at));
    append(ready_, to_.add_events({begin, end}));
  }
  samples.each_native([this](const CpuSamples::NativeCode& code) { add_function(code); });
  return {};
}

void SampleEvents::add_function(const CpuSamples::NativeCode& code) {
  const std::size_t size = code.module.size() + code.name.size();
  if (functions_.size() == kMaxNativeFunctions || functions_size_ + size > kMaxNamesBytes) return;
  const auto [known, is_new] = functions_.try_emplace(code.begin);
  if (!is_new) return;
  known->second = {code.end, std::string(code.module), std::string(code.name)};
  functions_size_ += size;
}

std::vector<std::vector<std::byte>> SampleEvents::take_loads() {
  std::vector<std::vector<std::byte>> loads;
  for (std::size_t bytes = 0; !functions_.empty() && bytes < nettrace::kUsualBlockBytes;) {
    const auto first = functions_.begin();
    const auto& [begin, function] = *first;
    std::vector<std::byte> names;
    append_utf16(names, function.module);
    append_utf16(names, function.name.empty() ? "?" : function.name);
    append_utf16(names, {});  // A signature, which such a function has not.
    const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(function.end - begin, UINT32_MAX));
    loads.push_back(events::method_load(begin, begin, size, names));
    bytes += loads.back().size();
    functions_.erase(first);
  }
  return loads;
}

}  // namespace farport::router
