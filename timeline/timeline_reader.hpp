// TimelineReader: makes a timeline of a recording's events.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events/exceptions.hpp"
#include "events/logs.hpp"
#include "events/measurements.hpp"
#include "events/methods.hpp"
#include "nettrace/event.hpp"
#include "timeline/timeline.hpp"

namespace farport::timeline {

/// Limits of the memory for exceptions, for log entries, for waits and for samples. The oldest ones go.
inline constexpr std::size_t kMaxHeldBytes = std::size_t{16} << 20;
/// Limit of the numbers of pauses, waits and other things that take little memory.
inline constexpr std::size_t kMaxHeld = 100'000;

class TimelineReader final : public nettrace::Handler {
 public:
  void on_trace(const nettrace::TraceHeader& trace) override;
  void on_event(const nettrace::Event& event) override;

  /// After the last event: the timeline, which is this process's.
  [[nodiscard]] Timeline take(Process process);

 private:
  /// The newest items within a limit of memory.
  template <typename Item>
  class Newest {
   public:
    /// Returns how many older ones had to go.
    std::uint64_t add(Item item, std::size_t size) {
      items_.emplace_back(std::move(item), size);
      held_ += size;
      std::uint64_t gone = 0;
      for (; held_ > kMaxHeldBytes; ++gone) {
        held_ -= items_.front().second;
        items_.pop_front();
      }
      return gone;
    }
    [[nodiscard]] const std::deque<std::pair<Item, std::size_t>>& items() const { return items_; }

   private:
    std::deque<std::pair<Item, std::size_t>> items_;
    std::size_t held_ = 0;
  };
  /// A step of a garbage collection, whose events may come from several threads.
  struct Step {
    enum class Kind : std::uint8_t { suspending, started, resumed };
    Time time;
    Kind kind{};
    std::uint32_t generation = 0;  ///< As far as this step tells.
  };
  /// A wait for a lock that has begun.
  struct OpenWait {
    Time begun;
    std::vector<std::uint64_t> stack;
  };
  struct AddressedWait {
    LockWait wait;
    std::vector<std::uint64_t> stack;
  };
  struct AddressedSample {
    Sample sample;
    std::vector<std::uint64_t> stack;
  };

  template <typename Item>
  void add_newest(std::deque<Item>& to, Item item) {
    to.push_back(std::move(item));
    if (to.size() <= kMaxHeld) return;
    to.pop_front();
    ++left_out_;
  }
  void take_measurement(const nettrace::Event& event);
  void take_runtime_event(const nettrace::Event& event);
  void end_wait(const nettrace::Event& event);
  void take_sample(const nettrace::Event& event);
  void end_moment();
  [[nodiscard]] std::vector<Pause> pauses();
  StackId stack_id(const std::vector<std::uint64_t>& addresses, Timeline& into);

  nettrace::TraceHeader trace_;
  events::MeasurementDecoder decoder_{{}};  ///< Of EventCounters alone.
  std::optional<events::VitalsReader> vitals_;
  std::optional<Time> measured_;  ///< When the measurements that are being taken began.
  std::deque<Moment> moments_;
  std::deque<Step> steps_;
  std::unordered_map<std::uint64_t, OpenWait> open_waits_;  ///< By thread.
  Newest<AddressedWait> waits_;
  std::deque<Time> starved_;
  Newest<events::ThrownException> thrown_;
  Newest<events::LogEntry> logs_;
  Newest<AddressedSample> samples_;
  std::uint64_t left_out_ = 0;
  events::CodeAddresses on_stacks_;
  events::MethodTable methods_{on_stacks_};
  std::map<std::vector<std::uint64_t>, StackId> stack_ids_;
  std::unordered_map<std::string, std::uint32_t> frame_ids_;
};

}  // namespace farport::timeline
