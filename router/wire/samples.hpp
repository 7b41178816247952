// Samples of a process's stacks on their way from an agent (docs/wire.md, "Profiles"): what they say, and how
// they become bytes. SampleReader (sample_reader.hpp) is the way back.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace farport::router::sample_record {

// The records that a stream of samples consists of (docs/wire.md, "Profiles"), for those who write and read
// them.

/// What a stream begins with: the format and its version.
inline constexpr std::string_view kMagic = "FPS1";

enum Kind : std::uint8_t {
  kStart = 1,
  kThread,
  kCall,
  kSample,
  kLost,
  kMapping,
  kSymbol,
  kNote,
  kEnd,
};

/// Of a record's payload.
inline constexpr std::size_t kMaxSize = 16 * 1024;
/// Of a text in it; longer ones are cut.
inline constexpr std::size_t kMaxText = 4096;

/// Of samples in a stream.
inline constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 23U;

/// Small for numbers near zero, whatever their sign.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63U);
}
constexpr std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1U) ^ (0 - (value & 1U)));
}

}  // namespace farport::router::sample_record

namespace farport::router {

/// What made a thread be sampled.
enum class SampleClock : std::uint8_t {
  cpu_clock,  ///< So much time on a processor, by the kernel's timer.
  cycles,     ///< The same, by the processor's counter.
  wall,       ///< So much time, whatever it did: one that has no stack was on a processor, or waited for one.
};

struct SamplingStart {
  std::uint32_t frequency = 0;  ///< Samples of a busy thread in a second, or of each.
  SampleClock clock = SampleClock::cpu_clock;
  bool kernel = false;  ///< Stacks go on into the kernel.
};

/// A call in the tree of all stacks, numbered from 1 in the order in which they are told; 0: no caller.
using CallNumber = std::uint32_t;

struct SampledCall {
  CallNumber caller = 0;
  /// Of an instruction of this call: where it was interrupted or, further out, within the instruction that
  /// calls. With the highest bit set it is the kernel's, counted from a place that is kept secret.
  std::uint64_t address = 0;
};

struct StackSample {
  std::chrono::nanoseconds time{};  ///< Since sampling began.
  std::uint32_t thread = 0;         ///< Its id, as the agent's kernel counts.
  CallNumber call = 0;              ///< The innermost one; 0: its stack could not be seen.
};

/// A part of a file in the process's memory.
struct SampledMapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;      ///< One beyond.
  std::uint64_t address = 0;  ///< What the file's symbols would call `start`.
  std::string path;           ///< As the process sees it.
  std::string build_id;       ///< In hexadecimal; empty where it is not known.
};

/// A function's place in the process's memory, or in the kernel.
struct SampledSymbol {
  std::uint64_t start = 0;
  std::uint64_t end = 0;  ///< One beyond.
  std::string name;
  std::string module;  ///< The kernel's module; empty for the kernel itself, and where a mapping says it.
};

enum class SamplingEnd : std::uint8_t {
  time_over,
  stopped,        ///< The caller has had enough.
  process_ended,  ///< The process that was sampled.
  failed,         ///< The text says why.
};

inline bool is_kernel_address(std::uint64_t address) {
  return (address >> 63U) != 0;
}

/// Takes what a stream of samples says, in its order: the start; threads, calls, samples and losses; then
/// what the addresses mean; then the end. Notes may come anywhere. What a sink doesn't take is left out.
class SampleSink {
 public:
  virtual void on_start(const SamplingStart& /*start*/) {}
  /// A thread that is new, or has another name now.
  virtual void on_thread(std::uint32_t /*thread*/, std::string_view /*name*/) {}
  virtual void on_call(const SampledCall& /*call*/) {}
  virtual void on_sample(const StackSample& /*sample*/) {}
  /// So many samples could not be taken or kept.
  virtual void on_lost(std::uint64_t /*samples*/) {}
  virtual void on_mapping(SampledMapping /*mapping*/) {}
  virtual void on_symbol(SampledSymbol /*symbol*/) {}
  /// For a person: what is missing, and why.
  virtual void on_note(std::string_view /*text*/) {}
  virtual void on_end(SamplingEnd /*end*/, std::string_view /*why*/) {}

 protected:
  ~SampleSink() = default;
};

/// Makes the bytes of a stream of samples, piece by piece, in the order that SampleSink has.
class SampleWriter final : public SampleSink {
 public:
  SampleWriter();

  void on_start(const SamplingStart& start) override;
  void on_thread(std::uint32_t thread, std::string_view name) override;
  void on_call(const SampledCall& call) override;
  void on_sample(const StackSample& sample) override;
  void on_lost(std::uint64_t samples) override;
  void on_mapping(SampledMapping mapping) override;
  void on_symbol(SampledSymbol symbol) override;
  void on_note(std::string_view text) override;
  void on_end(SamplingEnd end, std::string_view why) override;

  /// What has been made since it was taken last.
  [[nodiscard]] std::string take();
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  void add(std::uint8_t kind, std::string_view payload);

  std::string bytes_;
  std::uint64_t last_address_ = 0;
  std::int64_t last_time_ = 0;
};

// Reading a stream of samples, which may be anybody's, while it comes. Pure.

/// What a stream may hold at most, of each kind.
struct SampleLimits {
  std::uint64_t threads = 1U << 16U;
  std::uint64_t calls = 1U << 20U;
  std::uint64_t samples = 2 * sample_record::kMostSamples;  ///< A tick may go beyond.
  std::uint64_t losses = 1U << 23U;                         ///< Records of them.
  std::uint64_t mappings = 1U << 16U;
  std::uint64_t symbols = 1U << 18U;
  std::uint64_t notes = 256;
  std::uint64_t text_bytes = 64U << 20U;  ///< Names, paths and notes together.
};

/// Takes a stream apart, whatever pieces it comes in. Keeps less than one record of it. What it hands on
/// holds together: a call's caller is one before it, a sample's call is one of those that there are, and
/// ranges are not empty.
class SampleReader {
 public:
  explicit SampleReader(SampleSink& sink, const SampleLimits& limits = {}) : sink_(sink), left_(limits) {}

  /// Reads on. Errors: it is no such stream, or breaks a limit; nothing more can be read then.
  [[nodiscard]] Result<void> read(std::span<const std::byte> bytes);
  /// Whether the end has been told; bytes behind it are an error.
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  class Record;

  [[nodiscard]] Result<std::size_t> read_records(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> hand_on(std::uint8_t kind, Record& record);
  void start(Record& record);
  void thread(Record& record);
  void call(Record& record);
  void sample(Record& record);
  void lost(Record& record);
  void mapping(Record& record);
  void symbol(Record& record);
  void note(Record& record);
  void end(Record& record);
  [[nodiscard]] std::string text(Record& record);
  void take_one(std::uint64_t& left, Record& record);

  SampleSink& sink_;
  SampleLimits left_;
  std::vector<std::byte> pending_;  ///< The beginning of a record that has not come whole.
  bool greeted_ = false;
  bool started_ = false;
  bool ended_ = false;
  CallNumber calls_ = 0;
  std::uint64_t last_address_ = 0;
  std::uint64_t last_time_ = 0;
};

}  // namespace farport::router
