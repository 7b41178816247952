// What readers make of recordings: lines, documents, measurements, and names of methods.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "events/heap_walk.hpp"
#include "events/lines.hpp"
#include "events/sampled_profile.hpp"
#include "router/readers/reader_frames.hpp"
#include "router/readers/reader_process.hpp"
#include "router/recordings/counters.hpp"
#include "router/recordings/incidents.hpp"

namespace farport::router {

/// The counters that a request names; if it names none, the usual ones. Errors: a malformed name.
[[nodiscard]] Result<CounterSelection> selection_named(const std::string& names);

/// Makes lines of log entries, in JSON.
[[nodiscard]] std::unique_ptr<events::EventFormatter> json_log_lines();

/// Makes lines of the selected counters.
class SelectedCounters final : public events::EventFormatter {
 public:
  explicit SelectedCounters(CounterSelection selection);

  void on_trace(const nettrace::TraceHeader& trace) override { lines_.on_trace(trace); }
  void on_event(const nettrace::Event& event) override { lines_.on_event(event); }
  std::string drain_lines() override { return lines_.drain_lines(); }
  std::vector<std::string> take_notices() override { return lines_.take_notices(); }

 private:
  CounterSelection selection_;
  events::JsonMeasurementLines lines_;
};

/// Makes one document: what each thread is doing.
class CurrentStacks final : public events::EventFormatter {
 public:
  void on_event(const nettrace::Event& event) override { stacks_.on_event(event); }
  Result<std::string> take_end() override;

 private:
  events::ThreadStacks stacks_;
};

/// Follows the walk of a heap, of which something is made at the end.
class HeapFormatter : public events::EventFormatter {
 public:
  void on_trace(const nettrace::TraceHeader& trace) override { walk_.on_trace(trace); }
  void on_event(const nettrace::Event& event) override { walk_.on_event(event); }
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override {
    walk_.on_dropped(thread, events);
  }
  bool has_enough() const override { return walk_.has_enough(); }
  std::vector<std::string> take_notices() override { return std::exchange(gaps_, {}); }

 protected:
  explicit HeapFormatter(events::HeapWalk::Keep keep) : walk_(keep) {}

  [[nodiscard]] const events::HeapWalk& walk() const { return walk_; }
  /// The heap, what it lacks of which becomes notices. Call it after the last event.
  [[nodiscard]] heap::Heap take_heap();

 private:
  events::HeapWalk walk_;
  std::vector<std::string> gaps_;
};

/// Makes one document: the types in a heap as JSON, or all of its objects as a .gcdump file.
class HeapDocument final : public HeapFormatter {
 public:
  HeapDocument(std::string process, events::HeapWalk::Keep keep)
      : HeapFormatter(keep), process_(std::move(process)), keep_(keep) {}

  Result<std::string> take_end() override;

 private:
  std::string process_;
  events::HeapWalk::Keep keep_;
};

/// What makes the requested answer from events; nullptr if nothing does.
[[nodiscard]] std::unique_ptr<events::EventFormatter> event_formatter(const ReadingRequest& wanted);

// All of the following throw std::bad_alloc if the memory runs out.

/// Passes the input to `handler`, up to its end, and calls `after` for each piece. Errors: the input is no
/// recording.
[[nodiscard]] Result<void> read_recording(ReaderInput& from, nettrace::Handler& handler,
                                          const std::function<void()>& after);

/// Has `formatter` read the input, up to its end, and writes what it makes. Errors: the input is no
/// recording, or an incomplete one.
[[nodiscard]] Result<void> make_lines(events::EventFormatter& formatter, ReaderInput& from, ReaderOutput& to);

/// Writes the events of a heap as they come, says when all have come, and at the end what they lack. Errors:
/// the input is no recording, or the runtime has not reported all of it.
[[nodiscard]] Result<void> copy_heap(const std::string& process, ReaderInput& from, ReaderOutput& to);

/// Writes the measurements that `values` finds in the input. Errors: as above.
[[nodiscard]] Result<void> tell_measurements(events::MeasurementReader& values, ReaderInput& from,
                                             ReaderOutput& to);

/// Writes what fits the patterns (see patterns_from_json()) as the input comes. Errors: as above, or another
/// session has silenced the runtime's requests.
[[nodiscard]] Result<void> tell_incidents(const std::string& patterns, ReaderInput& from, ReaderOutput& to);

/// Writes the methods at given addresses. The input is first the addresses as a part, eight bytes each
/// (little-endian), and then a recording in which the runtime names its methods. Errors: the input can't be
/// read.
[[nodiscard]] Result<void> tell_methods(ReaderInput& from, ReaderOutput& to);

/// What there is for join_recordings(), in this order: what the process reported, what the agent has sampled
/// (see SampleEvents), and two recordings with names of methods.
inline constexpr std::size_t kJoinedParts = 4;
/// Makes one recording of these. All but the last come as parts, and each but the first may be empty. Passes
/// the result to `take`. Writes a notice if the rest of a part is left out because it is no good. Errors: the
/// first one is no good; those of `take`.
[[nodiscard]] Result<void> join_recordings(ReaderInput& from, ReaderOutput& to,
                                           const std::function<Result<void>(nettrace::BytesView)>& take);

/// The same, with the result written as the answer.
[[nodiscard]] Result<void> join_recordings(ReaderInput& from, ReaderOutput& to);

/// What a reader of the agent does. Errors: there is no answer.
[[nodiscard]] Result<void> make_answer(const ReadingRequest& wanted, ReaderInput& from, ReaderOutput& to);

}  // namespace farport::router
