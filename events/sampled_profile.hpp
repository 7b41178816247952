// A profile from the runtime's own samples: what each of its threads does, on a processor or not.
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

// What each thread of a runtime does, by the last sample of it.

struct ThreadStack {
  std::uint64_t thread = 0;  ///< The operating system's id.
  std::string name;          ///< Empty where it is not known.
  /// False: it waits, or runs code that is none of .NET's. None: it was looked at from outside, and nobody
  /// knows.
  std::optional<bool> managed = true;
  /// The innermost first: "Orders.dll!Orders.Pricing.Quote(int32)".
  std::vector<std::string> frames;
};

/// Hands on stacks, one at a time: names may be long.
using EachStack = std::function<void(const std::function<void(const ThreadStack&)>&)>;

/// Takes the samples of a brief recording, and the names that its rundown brings at the end.
class ThreadStacks final : public nettrace::Handler {
 public:
  void on_event(const nettrace::Event& event) override;

  /// Each of them, by the threads' ids, once nothing more comes.
  void each(const std::function<void(const ThreadStack&)>& take) const;
  /// How many samples are left out, since there is more than is kept.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  struct Last {
    std::string name;
    bool managed = true;
    std::vector<std::uint64_t> stack;
  };

  void add_sample(const nettrace::Event& event);

  std::map<std::uint64_t, Last> threads_;
  std::size_t kept_ = 0;  ///< Addresses.
  std::uint64_t left_out_ = 0;
  CodeAddresses sampled_;
  MethodTable methods_{sampled_};
};

}  // namespace farport::events
