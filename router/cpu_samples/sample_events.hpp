// SampleEvents: adds what an agent has sampled to a recording of the same process, as the runtime's own
// sampler would have reported it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "nettrace/stream_join.hpp"
#include "router/cpu_samples/cpu_samples.hpp"

namespace farport::router {

/// The size before each stream of samples in a row of them: four bytes, little-endian.
inline constexpr std::size_t kSamplesHead = 4;
/// The most bytes of one such stream.
inline constexpr std::size_t kMaxSamplesBytes = std::size_t{2} << 20;

class SampleEvents {
 public:
  /// `to` must have taken a recording, and outlive this object.
  explicit SampleEvents(nettrace::StreamJoin& to) : to_(to) {}
  SampleEvents(const SampleEvents&) = delete;
  SampleEvents& operator=(const SampleEvents&) = delete;

  /// Takes the next bytes of a row of streams. Returns those of the recording that are ready. What was
  /// sampled before the recording begins is left out, and so are streams that are no good.
  [[nodiscard]] std::vector<std::byte> take(nettrace::BytesView bytes);
  /// Why some stream was left out: it is malformed, or the recording has another clock.
  [[nodiscard]] const std::optional<Error>& left_out() const { return left_out_; }

  /// Takes the next functions of native code in samples, each as the payload of a kMethodLoad. Empty if there
  /// are no more.
  [[nodiscard]] std::vector<std::vector<std::byte>> take_loads();

 private:
  struct Function {
    std::uint64_t end = 0;
    std::string module;
    std::string name;
  };
  [[nodiscard]] Result<void> add_stream(nettrace::BytesView stream);
  [[nodiscard]] Result<void> add(const CpuSamples& samples);
  void add_function(const CpuSamples::NativeCode& code);
  [[nodiscard]] Result<void> add_kind();

  nettrace::StreamJoin& to_;
  std::vector<std::byte> held_;   ///< The beginning of an incomplete stream.
  std::vector<std::byte> ready_;  ///< Of the recording.
  std::optional<Error> left_out_;
  bool has_end_ = false;  ///< Nothing more can be told apart.
  bool has_kind_ = false;
  std::map<std::uint64_t, Function> functions_;  ///< By where their code begins.
  std::size_t functions_size_ = 0;               ///< Their names, in bytes.
};

}  // namespace farport::router
