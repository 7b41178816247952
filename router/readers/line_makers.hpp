// What answers are made of, beside what is made of events everywhere.
#pragma once

#include <memory>
#include <string>

#include "events/heap_walk.hpp"
#include "events/lines.hpp"
#include "events/sampled_profile.hpp"
#include "router/readers/reading_request.hpp"
#include "router/wanted/counters.hpp"

namespace farport::router {

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

}  // namespace farport::router
