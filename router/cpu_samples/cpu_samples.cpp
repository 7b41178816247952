#include "router/cpu_samples/cpu_samples.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "router/symbol_files/symbol_search.hpp"

namespace farport::router {
namespace {

using profile::Frame;
using profile::FrameId;
using profile::FrameKind;

constexpr std::string_view kKernel = "[kernel]";
/// Whether a file belongs to .NET itself, or is the memory for compiled code: an address there that is no
/// method is a stub.
bool is_runtime(std::string_view module) {
  constexpr std::array<std::string_view, 11> kFiles{
      "libcoreclr.so",      "libclrjit.so",     "libclrgc.so",       "libclrgcexp.so",
      "libhostfxr.so",      "libhostpolicy.so", "libnethost.so",     "libmscordbi.so",
      "libmscordaccore.so", "dotnet",           "memfd:doublemapper"};
  return std::find(kFiles.begin(), kFiles.end(), module) != kFiles.end() ||
         (module.starts_with("libSystem.") && module.ends_with(".so"));
}

/// Whether the runtime keeps compiled code there, for which it has names of its own.
bool holds_managed_code(std::string_view module) {
  return module.ends_with(".dll") || module.ends_with(".exe") || module.starts_with("memfd:");
}

/// The range that contains an address. The ranges are sorted by start, and hardly overlap.
template <typename Range>
const Range* find_range(const std::vector<Range>& sorted, std::uint64_t address) {
  const auto after =
      std::upper_bound(sorted.begin(), sorted.end(), address,
                       [](std::uint64_t wanted, const Range& each) { return wanted < each.start; });
  if (after == sorted.begin()) return nullptr;
  const Range& before = *std::prev(after);
  return address < before.end ? &before : nullptr;
}

template <typename Range>
std::vector<Range> sorted_by_start(std::vector<Range> ranges) {
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const Range& one, const Range& other) { return one.start < other.start; });
  return ranges;
}

/// The frame of a thread that runs, or waits for a processor, while it is sampled from outside.
Frame running() {
  return {FrameKind::native, kRunning, {}, {}, 0};
}

/// Makes the frames of addresses.
class FrameNamer {
 public:
  FrameNamer(profile::FrameTable& frames, std::vector<SampledMapping> mappings,
             std::vector<SampledSymbol> symbols, const CpuSamples::NameManaged& managed)
      : frames_(frames),
        mappings_(sorted_by_start(std::move(mappings))),
        symbols_(sorted_by_start(std::move(symbols))),
        managed_(managed) {}

  FrameId frame_of(std::uint64_t address) {
    const auto known = known_.find(address);
    if (known != known_.end()) return known->second;
    const FrameId id = frames_.add(is_kernel_address(address) ? kernel_frame(address) : user_frame(address));
    known_.emplace(address, id);
    return id;
  }

  /// Whether there may be code at the address: a method, or part of a file.
  [[nodiscard]] bool is_code(std::uint64_t address) const {
    return is_kernel_address(address) || find_range(mappings_, address) != nullptr ||
           find_range(symbols_, address) != nullptr || (managed_ && managed_(address));
  }

 private:
  [[nodiscard]] Frame kernel_frame(std::uint64_t address) const {
    Frame frame{FrameKind::kernel, std::string(kKernel), {}, {}, 0};
    const SampledSymbol* const symbol = find_range(symbols_, address);
    if (symbol != nullptr) frame.name = symbol->name;
    frame.module = symbol != nullptr && !symbol->module.empty() ? symbol->module : "kernel";
    return frame;
  }

  [[nodiscard]] Frame user_frame(std::uint64_t address) const {
    if (auto method = managed_ ? managed_(address) : std::nullopt) return *std::move(method);
    Frame frame{FrameKind::native, {}, {}, {}, address};
    if (const SampledMapping* const mapping = find_range(mappings_, address)) {
      frame.module = module_name(mapping->path);
      frame.build_id = mapping->build_id;
      frame.address = address - mapping->start + mapping->address;
    }
    if (is_runtime(frame.module)) frame.kind = FrameKind::runtime;
    const SampledSymbol* const symbol = find_range(symbols_, address);
    if (symbol == nullptr) return frame;
    // All addresses in a function share one frame.
    frame.name = symbol->name;
    frame.build_id.clear();
    frame.address = 0;
    return frame;
  }

  profile::FrameTable& frames_;
  std::vector<SampledMapping> mappings_;
  std::vector<SampledSymbol> symbols_;
  const CpuSamples::NameManaged& managed_;
  std::unordered_map<std::uint64_t, FrameId> known_;
};

/// For each call by its number: whether a sample interrupted its thread there, in the process's own code.
std::vector<bool> interrupted(const std::vector<SampledCall>& calls,
                              const std::vector<StackSample>& samples) {
  std::vector<CallNumber> outside_kernel{0};
  for (const SampledCall& call : calls) {
    const auto own = static_cast<CallNumber>(outside_kernel.size());
    outside_kernel.push_back(is_kernel_address(call.address) ? outside_kernel[call.caller] : own);
  }
  std::vector<bool> found(outside_kernel.size());
  for (const StackSample& sample : samples) found[outside_kernel[sample.call]] = true;
  return found;
}

}  // namespace

std::uint32_t CpuSamples::place_of(std::uint32_t thread) {
  const auto [place, added] = places_.emplace(thread, static_cast<std::uint32_t>(threads_.size()));
  if (added) threads_.push_back({thread, {}});
  return place->second;
}

void CpuSamples::on_thread(std::uint32_t thread, std::string_view name) {
  threads_[place_of(thread)].name = name;
}

void CpuSamples::on_sample(const StackSample& sample) {
  std::ignore = place_of(sample.thread);
  samples_.push_back(sample);
}

void CpuSamples::on_lost(std::uint64_t samples) {
  lost_ += std::min(samples, UINT64_MAX - lost_);
}

void CpuSamples::on_end(SamplingEnd end, std::string_view why) {
  end_ = end;
  why_ended_ = why;
}

std::vector<UnnamedFile> CpuSamples::unnamed(const NameManaged& managed) const {
  const auto mappings = sorted_by_start(mappings_);
  const auto symbols = sorted_by_start(symbols_);
  std::set<std::uint64_t> addresses;
  for (const SampledCall& call : calls_) addresses.insert(call.address);
  std::map<std::pair<std::string, std::string>, UnnamedFile> files;
  for (const std::uint64_t address : addresses) {
    const SampledMapping* const mapping = find_range(mappings, address);
    if (mapping == nullptr || mapping->build_id.empty() || is_kernel_address(address)) continue;
    if (find_range(symbols, address) != nullptr || (managed && managed(address))) continue;
    UnnamedFile& file = files[{mapping->build_id, mapping->path}];
    if (file.parts.empty() || file.parts.back().start != mapping->start) file.parts.push_back(*mapping);
    file.addresses.push_back(address);
  }
  std::vector<UnnamedFile> sorted;
  for (auto& [key, file] : files) sorted.push_back(std::move(file));
  std::stable_sort(sorted.begin(), sorted.end(), [](const UnnamedFile& one, const UnnamedFile& other) {
    return one.addresses.size() > other.addresses.size();
  });
  return sorted;
}

void CpuSamples::each_native(const std::function<void(const NativeCode&)>& take) const {
  const auto mappings = sorted_by_start(mappings_);
  const auto symbols = sorted_by_start(symbols_);
  for (const SampledCall& call : calls_) {
    const SampledMapping* const mapping = find_range(mappings, call.address);
    const SampledSymbol* const symbol = find_range(symbols, call.address);
    const std::string module = mapping == nullptr ? std::string() : module_name(mapping->path);
    if (symbol != nullptr) {
      take({symbol->start, symbol->end, module, symbol->name});
    } else if (mapping != nullptr && !holds_managed_code(module)) {
      take({call.address, call.address + 1, module, {}});
    }
  }
}

void CpuSamples::add_to(profile::Profile& profile, const NameManaged& managed) const {
  const bool wall = start_ && start_->clock == SampleClock::wall;
  profile.clock = wall ? profile::Clock::wall : profile::Clock::cpu;
  profile.lost = lost_;
  profile.threads = threads_;
  if (start_) profile.interval = std::chrono::nanoseconds(std::chrono::seconds(1)) / start_->frequency;

  FrameNamer namer(profile.frames, mappings_, symbols_, managed);
  const std::vector<bool> ends = interrupted(calls_, samples_);
  std::vector<profile::CallId> calls{profile::kRoot};
  calls.reserve(calls_.size() + 1);
  for (const SampledCall& call : calls_) {
    // If a function keeps no frame pointer, the kernel takes anything for its caller, such as a text or a
    // list in the heap. An address that is no code has called nothing.
    // Samples from outside are already checked.
    const bool is_call = wall || ends[calls.size()] || namer.is_code(call.address);
    const profile::CallId caller = calls[call.caller];
    calls.push_back(is_call ? profile.calls.add(caller, namer.frame_of(call.address)) : caller);
  }
  for (const StackSample& sample : samples_) {
    profile::CallId call = calls[sample.call];
    const bool runs = wall && sample.call == 0;
    if (runs) call = profile.calls.add(profile::kRoot, profile.frames.add(running()));
    profile.samples.add({sample.time, places_.at(sample.thread), call, wall && !runs});
    profile.duration = std::max(profile.duration, sample.time);
  }
  profile.samples.sort_by_time();
}

}  // namespace farport::router
