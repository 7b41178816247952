// CpuSamples: what an agent has sampled of a runtime's threads, and the profile that it becomes. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/profile.hpp"
#include "router/symbols/file_symbols.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

/// The name of the only frame of a thread that was on a processor, or waited for one, when it was looked at
/// from outside.
inline constexpr const char* kRunning = "[running]";

/// Collects a stream of samples, from which add_to() makes a profile at the end.
class CpuSamples final : public SampleSink {
 public:
  /// Returns the managed method at an address, or nothing.
  using NameManaged = std::function<std::optional<profile::Frame>(std::uint64_t address)>;

  /// Fills an empty profile: its clock, duration, frames, calls, threads and samples. If `managed` knows an
  /// address, its frame is that method; otherwise it is what the agent has said.
  void add_to(profile::Profile& profile, const NameManaged& managed) const;

  /// The addresses without names, in files that have a build id; files with the most addresses come first.
  /// Names that are found are added with on_symbol().
  [[nodiscard]] std::vector<UnnamedFile> unnamed(const NameManaged& managed) const;

  /// A function of a file, or one address in a file without a name for it.
  struct NativeCode {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;    ///< One beyond its last byte.
    std::string_view module;  ///< The file's name; empty if unknown.
    std::string_view name;    ///< Empty if unknown.
  };
  /// Tells what is known of addresses in samples that are no managed code. One may come several times.
  void each_native(const std::function<void(const NativeCode&)>& take) const;

  [[nodiscard]] const std::optional<SamplingStart>& start() const { return start_; }
  [[nodiscard]] const std::vector<StackSample>& samples() const { return samples_; }
  /// All code addresses in samples. One may occur several times.
  [[nodiscard]] const std::vector<SampledCall>& calls() const { return calls_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  /// Messages for a person: what is missing, and why.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// Nothing before the end has come.
  [[nodiscard]] std::optional<SamplingEnd> end() const { return end_; }
  [[nodiscard]] const std::string& why_ended() const { return why_ended_; }

  void on_start(const SamplingStart& start) override { start_ = start; }
  void on_thread(std::uint32_t thread, std::string_view name) override;
  void on_call(const SampledCall& call) override { calls_.push_back(call); }
  void on_sample(const StackSample& sample) override;
  void on_lost(std::uint64_t samples) override;
  void on_mapping(SampledMapping mapping) override { mappings_.push_back(std::move(mapping)); }
  void on_symbol(SampledSymbol symbol) override { symbols_.push_back(std::move(symbol)); }
  void on_note(std::string_view text) override { notes_.emplace_back(text); }
  void on_end(SamplingEnd end, std::string_view why) override;

 private:
  std::uint32_t place_of(std::uint32_t thread);

  std::optional<SamplingStart> start_;
  std::vector<profile::ProfiledThread> threads_;
  std::unordered_map<std::uint64_t, std::uint32_t> places_;  ///< Indexes in threads_, by thread id.
  std::vector<SampledCall> calls_;
  std::vector<StackSample> samples_;
  std::uint64_t lost_ = 0;
  std::vector<SampledMapping> mappings_;
  std::vector<SampledSymbol> symbols_;
  std::vector<std::string> notes_;
  std::optional<SamplingEnd> end_;
  std::string why_ended_;
};

}  // namespace farport::router
