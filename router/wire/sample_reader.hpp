// Reading a stream of samples, which may be anybody's, while it comes. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "router/wire/sample_records.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

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
