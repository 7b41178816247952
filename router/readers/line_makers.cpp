#include "router/readers/line_makers.hpp"

#include <limits>

#include "events/lines.hpp"
#include "heap/heap.hpp"

namespace farport::router {

std::unique_ptr<events::LineMaker> json_log_lines() {
  return std::make_unique<events::LogLines>(
      [](const events::LogEntry& entry) { return events::to_json(entry) + "\n"; });
}

SelectedCounters::SelectedCounters(CounterSelection selection)
    : selection_(std::move(selection)),
      lines_(kMeterSession, [this](const events::Measurement& each) { return selection_.takes(each); }) {}

Result<std::string> CurrentStacks::take_end() {
  if (stacks_.left_out() > 0)
    return fail("tell", "the stacks", "there are more threads, or longer stacks, than are kept");
  std::string document;
  events::write_json([this](const auto& take) { stacks_.each(take); },
                     [&document](std::string_view piece) { document += piece; });
  return document;
}

Result<std::string> HeapTypes::take_end() {
  if (walk_.ended()) return heap::to_json(walk_.take(), process_, std::numeric_limits<std::size_t>::max());
  return fail("look into the heap of", process_, "the runtime has not come to the end of it",
              "give it more time with seconds=");
}

Result<CounterSelection> selection_named(const std::string& names) {
  return CounterSelection::parse(names.empty() ? std::vector<std::string>() : std::vector{names});
}

std::unique_ptr<events::LineMaker> line_maker(const ReadingRequest& wanted) {
  switch (wanted.kind) {
    case ReadingRequest::Kind::counters: {
      auto selection = selection_named(wanted.text);
      return selection ? std::make_unique<SelectedCounters>(std::move(*selection)) : nullptr;
    }
    case ReadingRequest::Kind::profile:
    case ReadingRequest::Kind::metrics:
    case ReadingRequest::Kind::methods:
    case ReadingRequest::Kind::local:
      break;
    case ReadingRequest::Kind::logs:
      return json_log_lines();
    case ReadingRequest::Kind::exceptions:
      return std::make_unique<events::ExceptionReport>();
    case ReadingRequest::Kind::stacks:
      return std::make_unique<CurrentStacks>();
    case ReadingRequest::Kind::heap:
      return std::make_unique<HeapTypes>(wanted.text);
  }
  return nullptr;
}

}  // namespace farport::router
