// SampledProfile, ThreadStacks: profiles and stacks from the runtime's own sampler, which samples all
// threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "events/methods.hpp"
#include "nettrace/event.hpp"
#include "profile/profile.hpp"

namespace farport::events {

/// The period and the interval of thread samples.
class SampleTimes {
 public:
  void add(std::uint32_t thread, std::chrono::nanoseconds time);
  /// The usual interval between a thread's samples, judged by the first ones.
  [[nodiscard]] std::chrono::nanoseconds usual_interval() const;
  /// From the first to the last sample.
  [[nodiscard]] std::chrono::nanoseconds length() const;

 private:
  std::optional<std::chrono::nanoseconds> first_;
  std::chrono::nanoseconds last_{};
  std::vector<std::optional<std::chrono::nanoseconds>> last_of_;  ///< By thread.
  std::vector<std::chrono::nanoseconds> between_;
};

/// Builds a profile from a recording's samples and the names in its final rundown.
class SampledProfile final : public nettrace::Handler {
 public:
  explicit SampledProfile(profile::Keep keep) : samples_(keep) {}

  void on_trace(const nettrace::TraceHeader& trace) override;
  void on_event(const nettrace::Event& event) override;
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override;

  /// The profile, without a process name. Call it after the last event.
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
  profile::CallTree calls_;  ///< Frames are indexes into addresses_.
  std::vector<profile::ProfiledThread> threads_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_thread_;
  profile::Samples samples_;
  SampleTimes times_;
  std::uint64_t lost_ = 0;
};

/// What a thread was doing at its last sample.

struct ThreadStack {
  std::uint64_t thread = 0;  ///< The operating system's id.
  std::string name;          ///< Empty if unknown.
  /// False: it waits or runs native code. Empty: unknown, since it was sampled from outside.
  std::optional<bool> managed = true;
  /// The innermost first: "Orders.dll!Orders.Pricing.Quote(int32)".
  std::vector<std::string> frames;
};

/// Passes on stacks one at a time, since names may be long.
using EachStack = std::function<void(const std::function<void(const ThreadStack&)>&)>;

/// Takes the samples of a short recording and the names in its final rundown.
class ThreadStacks final : public nettrace::Handler {
 public:
  void on_event(const nettrace::Event& event) override;

  /// Passes on each thread's stack, ordered by thread id. Call it after the last event.
  void each(const std::function<void(const ThreadStack&)>& take) const;
  /// Samples left out for lack of space.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  struct Last {
    std::string name;
    bool managed = true;
    std::vector<std::uint64_t> stack;
  };

  void add_sample(const nettrace::Event& event);

  std::map<std::uint64_t, Last> threads_;
  std::size_t kept_ = 0;  ///< In addresses.
  std::uint64_t left_out_ = 0;
  CodeAddresses sampled_;
  MethodTable methods_{sampled_};
};

}  // namespace farport::events
