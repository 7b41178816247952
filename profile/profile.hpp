// Profile: samples of the stacks of a process's threads, whoever took them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace farport::profile {

/// The kind of code that a frame belongs to.
enum class FrameKind : std::uint8_t {
  managed,  ///< .NET code, compiled at run time or ahead of time.
  runtime,  ///< The runtime's own libraries.
  native,   ///< Other libraries and programs.
  kernel,
};
inline constexpr std::array kFrameKinds{FrameKind::managed, FrameKind::runtime, FrameKind::native,
                                        FrameKind::kernel};

/// The name in tables and files: "managed".
[[nodiscard]] std::string_view name_of(FrameKind kind);

struct Frame {
  FrameKind kind = FrameKind::native;
  std::string name;    ///< "Orders.Pricing.Quote(int32)", "memcpy"; empty if unknown.
  std::string module;  ///< The file with the code, without directory; empty if unknown.
  // To look up an unknown name later:
  std::string build_id;       ///< The module's, in hexadecimal.
  std::uint64_t address = 0;  ///< In the module, as symbols count it; without a module, in the process.

  bool operator==(const Frame&) const = default;
};

/// The frame's name for display, or its module and address.
[[nodiscard]] std::string label_of(const Frame& frame);
/// The same, escaped, since method names come from the runtime.
[[nodiscard]] std::string safe_label_of(const Frame& frame);

using FrameId = std::uint32_t;

/// A table in which each frame occurs once.
class FrameTable {
 public:
  /// The id of this frame, which is added if there is no equal one.
  FrameId add(Frame frame);
  [[nodiscard]] const Frame& operator[](FrameId id) const { return frames_[id]; }
  [[nodiscard]] std::size_t size() const { return frames_.size(); }
  /// Names a frame that had no name. Ids don't change, even if frames become equal.
  void name(FrameId id, std::string name) { frames_[id].name = std::move(name); }

 private:
  std::vector<Frame> frames_;
  std::unordered_multimap<std::size_t, FrameId> by_hash_;
};

/// A node of the call tree. The path from the root to it is a stack, the outermost frame first.
using CallId = std::uint32_t;
/// The empty stack.
inline constexpr CallId kRoot = 0;
/// Limit of the tree. A stack that would exceed it is cut off there.
inline constexpr std::size_t kMaxCalls = std::size_t{1} << 21;

/// Stacks as a tree, since most of them share their outer frames.
class CallTree {
 public:
  /// The node for a call of `frame` by `caller`, which is added if there is none. If the tree is full,
  /// `caller` itself.
  CallId add(CallId caller, FrameId frame);
  /// Not for the root.
  [[nodiscard]] CallId caller(CallId call) const { return calls_[call].caller; }
  [[nodiscard]] FrameId frame(CallId call) const { return calls_[call].frame; }
  /// The frames from the root to `call`, the outermost first.
  [[nodiscard]] std::vector<FrameId> stack(CallId call) const;
  /// Includes the root. Callees have higher numbers than their callers.
  [[nodiscard]] std::size_t size() const { return calls_.size(); }

 private:
  struct Call {
    CallId caller = kRoot;
    FrameId frame = 0;
  };
  std::vector<Call> calls_{Call{}};
  std::unordered_map<std::uint64_t, CallId> by_edge_;
};

/// The children of each node of a call tree.

class Children {
 public:
  explicit Children(const CallTree& calls);
  /// The callees of `call`, in the order in which they were added.
  [[nodiscard]] std::span<const CallId> of(CallId call) const {
    return std::span(children_).subspan(begins_[call], begins_[call + 1] - begins_[call]);
  }

 private:
  std::vector<std::uint32_t> begins_;  ///< Start of each call's children, and the end of the last.
  std::vector<CallId> children_;
};

/// The number of samples of one thread with the same stack and state.
struct Count {
  CallId call = kRoot;
  std::uint32_t thread = 0;
  bool waiting = false;
  std::uint64_t samples = 0;
};

/// Counts equal samples. Memory depends on the number of different ones, which is usually far smaller.
class SampleCounter {
 public:
  void add(const Count& alike);
  /// The number of different samples so far, except that the latest may not be included yet.
  [[nodiscard]] std::size_t different() const { return counted_.size(); }
  /// The counts, ordered by call, thread and state, with waiting last. Removes them.
  [[nodiscard]] std::vector<Count> take();

 private:
  struct Counted {
    std::uint64_t key = 0;
    std::uint64_t samples = 0;
  };

  /// A size at which the cost of sorting and merging is proportional to the samples.
  static constexpr std::size_t kFewestPending = std::size_t{1} << 15;

  void merge();

  std::vector<Counted> pending_;  ///< In order of arrival.
  std::vector<Counted> counted_;  ///< Ordered by key, each once.
};

/// Sample counts of each call, by its id.
struct Tally {
  std::vector<std::uint64_t> self;   ///< Samples that ended in it.
  std::vector<std::uint64_t> total;  ///< Samples that ended in it or its callees.
};

[[nodiscard]] Tally tally(const CallTree& calls, const std::vector<Count>& counts);

/// Name of the innermost frame that marks a waiting sample in formats without states.
inline constexpr std::string_view kWaiting = "[waiting]";

struct Sample {
  std::chrono::nanoseconds time{};  ///< Since the profile's start.
  std::uint32_t thread = 0;         ///< Index in Profile::threads.
  CallId call = kRoot;              ///< The innermost call.
  bool waiting = false;             ///< Not running; only with the wall clock.
};

/// What is kept of samples.
enum class Keep : std::uint8_t {
  counts,  ///< Counts of equal samples, which suffice for a flame graph.
  each,    ///< Each sample with its time.
};

class Samples {
 public:
  explicit Samples(Keep keep = Keep::each) : keep_(keep) {}

  /// Only while it is not full.
  void add(const Sample& sample);
  /// Whether one more sample would exceed the memory limit.
  [[nodiscard]] bool full() const;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// The counts, ordered by call, thread and state, with waiting last.
  [[nodiscard]] std::vector<Count> counts() const;
  /// All samples in the order of arrival, or by time after sort_by_time(); none if only counts are kept.
  [[nodiscard]] const std::vector<Sample>& each() const { return each_; }

  void sort_by_time();
  /// Replaces each sample's call by the element of `calls` at its index.
  void remap_calls(const std::vector<CallId>& calls);

 private:
  Keep keep_;
  std::uint64_t size_ = 0;
  std::vector<Sample> each_;
  SampleCounter counter_;
};

/// Most samples that are kept individually.
inline constexpr std::size_t kMaxSamples = std::size_t{1} << 24;
/// Most different samples that are counted.
inline constexpr std::size_t kMaxCounts = std::size_t{1} << 22;

struct ProfiledThread {
  std::uint64_t id = 0;  ///< The operating system's.
  std::string name;      ///< Empty if unknown.
};

/// The clock that triggers samples.
enum class Clock : std::uint8_t {
  cpu,   ///< Time on a processor.
  wall,  ///< Elapsed time, on a processor or not.
};

struct Profile {
  std::string process;  ///< The runtime's name.
  std::uint64_t pid = 0;
  Clock clock = Clock::cpu;
  std::chrono::system_clock::time_point began;
  std::chrono::nanoseconds duration{};
  std::chrono::nanoseconds interval{};  ///< The time that a sample represents.
  FrameTable frames;
  CallTree calls;
  std::vector<ProfiledThread> threads;
  Samples samples;         ///< Ordered by time if each sample is kept.
  std::uint64_t lost = 0;  ///< Samples that were not taken or kept.
};

// The frames with the highest cost, and a profile's summary.

/// The cost of a frame over all its calls, in samples.
struct FrameCost {
  FrameId frame = 0;
  std::uint64_t self = 0;     ///< Samples that ended in it.
  std::uint64_t waiting = 0;  ///< Those of them that waited.
  std::uint64_t total = 0;    ///< Samples with it on the stack; each counts once, even if it is recursive.
};

/// Ordered by self, then total, highest first; at most `most`.
[[nodiscard]] std::vector<FrameCost> top_frames(const Profile& profile, std::size_t most);

/// The same as an escaped table with a line for each frame, after lines with the number of samples.
[[nodiscard]] std::string top_table(const Profile& profile, std::size_t rows);

/// One escaped line: "Orders (pid 4711): 2970 samples in 30.0 s, one each 10.1 ms of processor time; 3 lost".
[[nodiscard]] std::string summary_of(const Profile& profile);

/// "10.1 ms", in a suitable unit.
[[nodiscard]] std::string duration_text(std::chrono::nanoseconds duration);

}  // namespace farport::profile
