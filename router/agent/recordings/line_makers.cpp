#include "router/agent/recordings/line_makers.hpp"

#include <limits>

#include "events/json.hpp"
#include "events/log_lines.hpp"
#include "heap/json.hpp"

namespace farport::router {

std::unique_ptr<events::LineMaker> json_log_lines() {
  return std::make_unique<events::LogLines>(
      [](const events::LogEntry& entry) { return events::to_json(entry) + "\n"; });
}

SelectedCounters::SelectedCounters(CounterSelection selection)
    : selection_(std::move(selection)),
      lines_(kMeterSession, [this](const events::Measurement& each) { return selection_.takes(each); }) {}

Result<std::string> CurrentStacks::take_end() {
  return events::to_json(stacks_.take());
}

Result<std::string> HeapTypes::take_end() {
  if (walk_.ended()) return heap::to_json(walk_.take(), process_, std::numeric_limits<std::size_t>::max());
  return fail("look into the heap of", process_, "the runtime has not come to the end of it",
              "give it more time with seconds=");
}

}  // namespace farport::router
