// What readers make of recordings.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "events/heap_walk.hpp"
#include "events/lines.hpp"
#include "events/sampled_profile.hpp"
#include "router/readers/reader_frames.hpp"
#include "router/readers/reader_process.hpp"
#include "router/wanted/counters.hpp"

namespace farport::router {

// What answers are made of, beside what is made of events everywhere.

/// Those that a request names; empty: the usual ones. Errors: a name that is none.
[[nodiscard]] Result<CounterSelection> selection_named(const std::string& names);

/// Entries of the log as lines.
[[nodiscard]] std::unique_ptr<events::LineMaker> json_log_lines();

/// Counters as lines, and which of them are meant.
class SelectedCounters final : public events::LineMaker {
 public:
  explicit SelectedCounters(CounterSelection selection);

  void on_trace(const nettrace::TraceHeader& trace) override { lines_.on_trace(trace); }
  void on_event(const nettrace::Event& event) override { lines_.on_event(event); }
  std::string take_lines() override { return lines_.take_lines(); }
  std::vector<std::string> take_notices() override { return lines_.take_notices(); }

 private:
  CounterSelection selection_;
  events::JsonMeasurementLines lines_;
};

/// What each thread does: one document.
class CurrentStacks final : public events::LineMaker {
 public:
  void on_event(const nettrace::Event& event) override { stacks_.on_event(event); }
  Result<std::string> take_end() override;

 private:
  events::ThreadStacks stacks_;
};

/// The types in a heap: one document.
class HeapTypes final : public events::LineMaker {
 public:
  explicit HeapTypes(std::string process) : process_(std::move(process)) {}

  void on_trace(const nettrace::TraceHeader& trace) override { walk_.on_trace(trace); }
  void on_event(const nettrace::Event& event) override { walk_.on_event(event); }
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override {
    walk_.on_dropped(thread, events);
  }
  bool has_enough() const override { return walk_.ended(); }
  Result<std::string> take_end() override;

 private:
  std::string process_;
  events::HeapWalk walk_{events::HeapWalk::Keep::types};
};

/// Makes the answer that is wanted, of events; nullptr: there is none.
[[nodiscard]] std::unique_ptr<events::LineMaker> line_maker(const ReadingRequest& wanted);

// All of them throw std::bad_alloc.

/// Hands what comes, up to its end, to `handler`, and calls `after` for each piece. Errors: it is no
/// recording.
[[nodiscard]] Result<void> read_recording(ReaderInput& from, nettrace::Handler& handler,
                                          const std::function<void()>& after);

/// Has `maker` read what comes, up to its end, and says what it says. Errors: it is no recording, or not
/// enough of one.
[[nodiscard]] Result<void> make_lines(events::LineMaker& maker, ReaderInput& from, ReaderOutput& to);

/// Tells the values that `values` takes. Errors: as above.
[[nodiscard]] Result<void> tell_measurements(events::MeasurementReader& values, ReaderInput& from,
                                             ReaderOutput& to);

/// Tells the methods that are at given addresses. What comes is first the addresses, as a part, eight bytes
/// each (little-endian), and then a recording in which the runtime names its methods. Errors: it can't be
/// read.
[[nodiscard]] Result<void> tell_methods(ReaderInput& from, ReaderOutput& to);

/// What the agent wants made. Errors: there is no answer.
[[nodiscard]] Result<void> make_answer(const ReadingRequest& wanted, ReaderInput& from, ReaderOutput& to);

}  // namespace farport::router
