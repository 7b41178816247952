// Samples of a process's stacks on their way from an agent (docs/wire.md, "Profiles"): what they say, and how
// they become bytes. SampleReader (sample_reader.hpp) is the way back.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace farport::router
