// Samples of what the threads of a process did, whoever took them.
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

// A frame of a stack, as people read it.

/// Whose code it is.
enum class FrameKind : std::uint8_t {
  managed,  ///< .NET code, compiled while it runs or before.
  runtime,  ///< The runtime's own libraries.
  native,   ///< Other libraries and programs.
  kernel,
};
inline constexpr std::array kFrameKinds{FrameKind::managed, FrameKind::runtime, FrameKind::native,
                                        FrameKind::kernel};

/// As it is called in tables and files: "managed".
[[nodiscard]] std::string_view name_of(FrameKind kind);

struct Frame {
  FrameKind kind = FrameKind::native;
  std::string name;  ///< "Orders.Pricing.Quote(int32)", "memcpy". Empty where it is not known.
  std::string
      module;  ///< The file that the code is from, without its directory. Empty where it is not known.
  // Where the name is not known, so that it can be looked up later:
  std::string build_id;       ///< The module's, in hexadecimal.
  std::uint64_t address = 0;  ///< In the module, as its symbols count; without a module, in the process.

  bool operator==(const Frame&) const = default;
};

/// What is shown of a frame: its name, or its module and address.
[[nodiscard]] std::string label_of(const Frame& frame);
/// The same, escaped: a runtime says what its methods are called.
[[nodiscard]] std::string safe_label_of(const Frame& frame);

using FrameId = std::uint32_t;

/// Each frame once.
class FrameTable {
 public:
  /// The id of a frame that is equal; it is added where there is none.
  FrameId add(Frame frame);
  [[nodiscard]] const Frame& operator[](FrameId id) const { return frames_[id]; }
  [[nodiscard]] std::size_t size() const { return frames_.size(); }
  /// Gives a frame that had none its name. Ids stay, though others may be equal now.
  void name(FrameId id, std::string name) { frames_[id].name = std::move(name); }

 private:
  std::vector<Frame> frames_;
  std::unordered_multimap<std::size_t, FrameId> by_hash_;
};

// Stacks, which mostly begin alike, as one tree.

/// A call in the tree: the way to it from the root is a stack, the outermost frame first.
using CallId = std::uint32_t;
/// The empty stack.
inline constexpr CallId kRoot = 0;
/// A stack that would make more of them ends where they are used up.
inline constexpr std::size_t kMostCalls = std::size_t{1} << 21;

class CallTree {
 public:
  /// The call of `frame` by `caller`, which is added where there is none. With kMostCalls: `caller` itself.
  CallId add(CallId caller, FrameId frame);
  /// Not of the root.
  [[nodiscard]] CallId caller(CallId call) const { return calls_[call].caller; }
  [[nodiscard]] FrameId frame(CallId call) const { return calls_[call].frame; }
  /// The frames on the way to `call`, the outermost first.
  [[nodiscard]] std::vector<FrameId> stack(CallId call) const;
  /// The root included. A call has a greater number than its caller.
  [[nodiscard]] std::size_t size() const { return calls_.size(); }

 private:
  struct Call {
    CallId caller = kRoot;
    FrameId frame = 0;
  };
  std::vector<Call> calls_{Call{}};
  std::unordered_map<std::uint64_t, CallId> by_edge_;
};

// A call tree from the root outwards.

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

// How many samples are alike.

/// Samples of one thread with the same stack.
struct Count {
  CallId call = kRoot;
  std::uint32_t thread = 0;
  bool waiting = false;
  std::uint64_t samples = 0;
};

/// Counts samples in memory for those that differ, of which there are mostly far fewer.
class SampleCounter {
 public:
  void add(const Count& alike);
  /// How many differ, as far as it is known: those that came last may not be among them yet.
  [[nodiscard]] std::size_t different() const { return counted_.size(); }
  /// By call, then thread, those that waited last. Leaves none.
  [[nodiscard]] std::vector<Count> take();

 private:
  struct Counted {
    std::uint64_t key = 0;
    std::uint64_t samples = 0;
  };

  /// So many that what sorting and merging take is a matter of the samples alone.
  static constexpr std::size_t kFewestPending = std::size_t{1} << 15;

  void merge();

  std::vector<Counted> pending_;  ///< As they came.
  std::vector<Counted> counted_;  ///< By key, each once.
};

/// Of each call, by its id.
struct Tally {
  std::vector<std::uint64_t> self;   ///< Samples that ended in it.
  std::vector<std::uint64_t> total;  ///< Those that went through it, too.
};

[[nodiscard]] Tally tally(const CallTree& calls, const std::vector<Count>& counts);

/// How forms that know no states show that a sample waited.
/// As if it were a function that had been called last.
inline constexpr std::string_view kWaiting = "[waiting]";

// Samples of stacks: each of them, or how many are alike.

struct Sample {
  std::chrono::nanoseconds time{};  ///< Since the profile began.
  std::uint32_t thread = 0;         ///< The place in Profile::threads.
  CallId call = kRoot;              ///< The innermost one.
  bool waiting = false;             ///< It was not on a processor: only where the clock is the wall's.
};

/// What is kept of samples.
enum class Keep : std::uint8_t {
  counts,  ///< How many are alike, in memory for those that differ: all that a flame graph takes.
  each,    ///< Each of them, with its time.
};

class Samples {
 public:
  explicit Samples(Keep keep = Keep::each) : keep_(keep) {}

  /// While it is not full.
  void add(const Sample& sample);
  /// Whether one more would take more memory than samples may.
  [[nodiscard]] bool full() const;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// By call, then thread, those that waited last.
  [[nodiscard]] std::vector<Count> counts() const;
  /// In the order in which they were added, or by time once they are sorted; none where counts are kept.
  [[nodiscard]] const std::vector<Sample>& each() const { return each_; }

  void sort_by_time();
  /// Gives each the call whose place in `calls` its call has been until now.
  void rename_calls(const std::vector<CallId>& calls);

 private:
  Keep keep_;
  std::uint64_t size_ = 0;
  std::vector<Sample> each_;
  SampleCounter counter_;
};

/// No more are kept one by one.
inline constexpr std::size_t kMostSamples = std::size_t{1} << 24;
/// No more that differ are counted.
inline constexpr std::size_t kMostCounts = std::size_t{1} << 22;

struct ProfiledThread {
  std::uint64_t id = 0;  ///< The operating system's.
  std::string name;      ///< Empty where it is not known.
};

/// What made the thread be sampled.
enum class Clock : std::uint8_t {
  cpu,   ///< So much time on a processor.
  wall,  ///< So much time, on a processor or not.
};

struct Profile {
  std::string process;  ///< The runtime's name.
  std::uint64_t pid = 0;
  Clock clock = Clock::cpu;
  std::chrono::system_clock::time_point began;
  std::chrono::nanoseconds duration{};
  std::chrono::nanoseconds interval{};  ///< That a sample stands for.
  FrameTable frames;
  CallTree calls;
  std::vector<ProfiledThread> threads;
  Samples samples;         ///< By time, where each is kept.
  std::uint64_t lost = 0;  ///< Samples that could not be taken or kept.
};

}  // namespace farport::profile
