// Samples of a process's stacks on their way from an agent: what they mean, and how they become bytes and
// back.
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

// The records of a stream of samples (docs/developers/wire.md, "Profiles"), for its writer and its reader.

/// The beginning of a stream: the format and its version.
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

/// The most bytes of a record's payload.
inline constexpr std::size_t kMaxSize = 16 * 1024;
/// The most bytes of a text; longer ones are cut.
inline constexpr std::size_t kMaxText = 4096;

/// The most samples in a stream.
inline constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 23U;

/// Maps numbers near zero, positive or negative, to small ones.
constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63U);
}

}  // namespace farport::router::sample_record

namespace farport::router {

/// The clock by which threads are sampled.
enum class SampleClock : std::uint8_t {
  cpu_clock,  ///< After a certain time on a processor, by the kernel's timer.
  cycles,     ///< The same, by the processor's cycle counter.
  wall,       ///< By the clock alone. Without a stack it was running, or ready to.
};

/// What was asked of a sampling.
struct SamplingStart {
  std::uint32_t frequency = 0;  ///< Samples a second, of each busy thread or of each thread.
  SampleClock clock = SampleClock::cpu_clock;
  bool kernel = false;  ///< Stacks include the kernel's functions.
  /// When sampling began, by CLOCK_MONOTONIC, which is the clock of the runtime's events, too. 0: unknown.
  std::chrono::nanoseconds began{};
};

/// The number of a call in the tree of all stacks. They are numbered from 1 in their order in the stream; 0
/// is no caller.
using CallNumber = std::uint32_t;

/// A call in that tree.
struct SampledCall {
  CallNumber caller = 0;
  /// The address of an instruction of this call: where it was interrupted, or within the instruction that
  /// makes the next call. If the highest bit is set it is the kernel's, relative to a secret base.
  std::uint64_t address = 0;
};

/// The stack of one thread at one moment.
struct StackSample {
  std::chrono::nanoseconds time{};  ///< Since sampling began.
  std::uint32_t thread = 0;         ///< Its id according to the agent's kernel.
  CallNumber call = 0;              ///< The innermost call; 0 if the stack could not be read.
};

/// A part of a file in the process's memory.
struct SampledMapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;      ///< One beyond the last byte.
  std::uint64_t address = 0;  ///< The address that the file's symbols have for `start`.
  std::string path;           ///< As the process sees it.
  std::string build_id;       ///< Hexadecimal; empty if unknown.
};

/// The place of a function in the process's memory, or in the kernel.
struct SampledSymbol {
  std::uint64_t start = 0;
  std::uint64_t end = 0;  ///< One beyond the last byte.
  std::string name;
  std::string module;  ///< The kernel's module; empty for the kernel itself, and for files.
};

/// Why a sampling has ended.
enum class SamplingEnd : std::uint8_t {
  time_over,
  stopped,        ///< The caller has stopped it.
  process_ended,  ///< The sampled process has ended.
  failed,         ///< The text says why.
};

inline bool is_kernel_address(std::uint64_t address) {
  return (address >> 63U) != 0;
}

/// Receives a stream of samples in its order: the start; threads, calls, samples and losses; then what the
/// addresses mean; then the end. Notes may come anywhere. By default a sink ignores everything.
class SampleSink {
 public:
  virtual void on_start(const SamplingStart& /*start*/) {}
  /// A new thread, or a new name of a thread.
  virtual void on_thread(std::uint32_t /*thread*/, std::string_view /*name*/) {}
  virtual void on_call(const SampledCall& /*call*/) {}
  virtual void on_sample(const StackSample& /*sample*/) {}
  /// This many samples could not be taken or kept.
  virtual void on_lost(std::uint64_t /*samples*/) {}
  virtual void on_mapping(SampledMapping /*mapping*/) {}
  virtual void on_symbol(SampledSymbol /*symbol*/) {}
  /// A message for a person: what is missing, and why.
  virtual void on_note(std::string_view /*text*/) {}
  virtual void on_end(SamplingEnd /*end*/, std::string_view /*why*/) {}

 protected:
  ~SampleSink() = default;
};

/// Writes a stream of samples. Call its functions in the order that SampleSink describes.
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

  /// The bytes that were made since the last call.
  [[nodiscard]] std::string take();

 private:
  void add(std::uint8_t kind, std::string_view payload);

  std::string bytes_;
  std::uint64_t last_address_ = 0;
  std::int64_t last_time_ = 0;
};

/// The limits of a stream, by kind of record.
struct SampleLimits {
  std::uint64_t threads = 1U << 16U;
  std::uint64_t calls = 1U << 20U;
  std::uint64_t samples = 2 * sample_record::kMaxSamples;  ///< The last tick may exceed kMaxSamples.
  std::uint64_t losses = 1U << 23U;                        ///< Records of losses.
  std::uint64_t mappings = 1U << 16U;
  std::uint64_t symbols = 1U << 18U;
  std::uint64_t notes = 256;
  std::uint64_t text_bytes = 64U << 20U;  ///< For names, paths and notes together.
};

/// Parses a stream from anybody, in pieces of any size. Keeps less than one record. What it passes on is
/// consistent: a call's caller comes before it, a sample's call exists, and ranges are not empty.
class SampleReader {
 public:
  explicit SampleReader(SampleSink& sink, const SampleLimits& limits = {}) : sink_(sink), left_(limits) {}

  /// Reads more bytes. Errors: the stream is malformed or exceeds a limit; nothing more can be read then.
  [[nodiscard]] Result<void> read(std::span<const std::byte> bytes);
  /// Whether the end has been read. Bytes after it are an error.
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
  std::vector<std::byte> pending_;  ///< The beginning of an incomplete record.
  bool greeted_ = false;
  bool started_ = false;
  bool ended_ = false;
  CallNumber calls_ = 0;
  std::uint64_t last_address_ = 0;
  std::uint64_t last_time_ = 0;
};

}  // namespace farport::router
