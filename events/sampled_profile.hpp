// A profile from the runtime's own samples: what each of its threads does, on a processor or not.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "events/methods.hpp"
#include "nettrace/handler.hpp"
#include "profile/profile.hpp"

namespace farport::events {

/// From when until when threads are sampled, and how often.
class SampleTimes {
 public:
  void add(std::uint32_t thread, std::chrono::nanoseconds time);
  /// How long it mostly takes from a thread's sample to its next one, by what came first.
  [[nodiscard]] std::chrono::nanoseconds usual_interval() const;
  /// From the first sample to the last one.
  [[nodiscard]] std::chrono::nanoseconds length() const;

 private:
  std::optional<std::chrono::nanoseconds> first_;
  std::chrono::nanoseconds last_{};
  std::vector<std::optional<std::chrono::nanoseconds>> last_of_;  ///< Of each thread.
  std::vector<std::chrono::nanoseconds> between_;
};

/// Takes the samples of a recording, and the names that its rundown brings at the end.
class SampledProfile final : public nettrace::Handler {
 public:
  explicit SampledProfile(profile::Keep keep) : samples_(keep) {}

  void on_trace(const nettrace::TraceHeader& trace) override;
  void on_event(const nettrace::Event& event) override;
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override;

  /// What has come, once nothing more does. The profile has no process's name.
  [[nodiscard]] profile::Profile take();

 private:
  void add_sample(const nettrace::Event& event);
  [[nodiscard]] profile::CallId call_of(const nettrace::Stack& stack);
  [[nodiscard]] std::uint32_t thread_of(const nettrace::Event& event);
  void name_calls(profile::Profile& made) const;

  nettrace::TraceHeader trace_;
  MethodTable methods_;
  std::vector<std::uint64_t> addresses_;
  std::unordered_map<std::uint64_t, profile::FrameId> by_address_;
  profile::CallTree calls_;  ///< Whose frames are places in addresses_.
  std::vector<profile::ProfiledThread> threads_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_thread_;
  profile::Samples samples_;
  SampleTimes times_;
  std::uint64_t lost_ = 0;
};

}  // namespace farport::events
