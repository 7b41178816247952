// Fuzzes what makes answers of a runtime's events. The first byte of an input says which answer, the rest is
// events: which one, its time and thread, the size of its stack, the payload's size, and both. Whatever they
// say, each line is JSON, and a measurement says the same after it has gone from a reader to the agent.
#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "events/providers.hpp"
#include "router/readers/answers.hpp"
#include "router/readers/reader_frames.hpp"
#include "tests/fuzz/events.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport;
using namespace farport::router;
using fuzz::require;
using nettrace::Field;
using nettrace::FieldType;

namespace {

Field text(const char* name) {
  return {name, FieldType::utf16_text, 0, {}};
}
Field number(const char* name, FieldType type) {
  return {name, type, 0, {}};
}

nettrace::Definition definition(const char* provider, const char* name, std::uint32_t id,
                                std::vector<Field> fields) {
  nettrace::Definition made;
  made.provider = provider;
  made.name = name;
  made.event_id = id;
  made.fields = std::move(fields);
  return made;
}

nettrace::Definition meter(const char* name) {
  return definition(events::kMetricsProvider, name, 1,
                    {text("sessionId"), text("meterName"), text("instrumentName"), text("unit"), text("tags"),
                     text("rate"), text("value"), text("lastValue"), text("quantiles"), text("count"),
                     text("sum"), text("errorMessage")});
}

nettrace::Definition counter(const char* value) {
  const Field payload{"Payload",
                      FieldType::structure,
                      0,
                      {text("Name"), text("DisplayName"), number(value, FieldType::float64),
                       number("IntervalSec", FieldType::float32), text("Series"), text("Metadata")}};
  return definition("System.Runtime", "EventCounters", 1, {{"", FieldType::structure, 0, {payload}}});
}

const std::vector<nettrace::Definition>& definitions() {
  static const std::vector<nettrace::Definition> all{
      meter("CounterRateValuePublished"),
      meter("UpDownCounterRateValuePublished"),
      meter("GaugeValuePublished"),
      meter("HistogramValuePublished"),
      meter("ObservableInstrumentCallbackError"),
      counter("Mean"),
      counter("Increment"),
      definition(events::kLoggingProvider, "MessageJson", 1,
                 {number("Level", FieldType::int32), text("LoggerName"), number("EventId", FieldType::int32),
                  text("EventName"), text("FormattedMessage"), text("ArgumentsJson"), text("ExceptionJson")}),
      definition(events::kRuntimeProvider, "", 80, {}),
      definition(events::kRuntimeProvider, "", 143, {}),
      definition(events::kRundownProvider, "", 144, {}),
      definition(events::kRundownProvider, "", 154, {}),
      definition(events::kSampleProvider, "", 0, {}),
      definition(events::kRequestProvider, "Event", 2, {}),
      definition(events::kHostingProvider, "RequestStart", 3, {}),
  };
  return all;
}

/// Each event in turn, and `after` each.
template <typename After>
void read_events(nettrace::Cursor in, nettrace::Handler& handler, const After& after) {
  constexpr std::size_t kPointer = 8;
  while (!in.at_end() && !in.failed()) {
    const nettrace::Definition& kind = definitions()[in.u8() % definitions().size()];
    const std::uint8_t time = in.u8();
    nettrace::Thread thread;
    thread.id = in.u8();
    const std::size_t frames = std::min<std::size_t>(in.u8(), in.remaining() / kPointer);
    const nettrace::Stack stack(in.take(frames * kPointer), kPointer);
    const std::size_t size = std::min<std::size_t>(in.u16(), in.remaining());
    fuzz::hand_on({kind, time, in.take(size), thread, stack}, handler);
    after();
  }
}

void check_lines(std::string_view lines) {
  require(lines.empty() || lines.ends_with('\n'), "lines have ends");
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    require(nlohmann::json::accept(line), "each line is JSON");
    lines.remove_prefix(line.size() + 1);
  }
}

void make_lines(ReadingTask::Kind kind, nettrace::Cursor in) {
  const auto maker = event_formatter({{kind}, {}});
  read_events(in, *maker, [&] {
    check_lines(maker->drain_lines());
    for (const std::string& notice : maker->take_notices())
      require(!notice.empty(), "a notice says something");
  });
  const Result<std::string> end = maker->take_end();
  require(end || !end.error().why.empty(), "every error has a cause");
  if (!end) return;
  if (ReadingTask{kind}.makes_document()) {
    require(nlohmann::json::accept(*end), "a document is JSON");
  } else {
    check_lines(*end);
  }
}

void pass_measurements(nettrace::Cursor in) {
  const auto all = [](const events::Measurement&) { return true; };
  events::MeasurementReader reader(kMeterSession, all);
  read_events(in, reader, [&] {
    for (const events::Measurement& each : reader.take()) {
      const auto text_of = encode_measurement(each);
      if (!text_of) continue;
      const auto again = decode_measurement(*text_of);
      require(again.has_value(), "what a reader says of a measurement is understood");
      require(encode_measurement(*again) == text_of, "a measurement says the same on the other side");
    }
  });
}

void find_incidents(nettrace::Cursor in) {
  using Of = IncidentPattern::Of;
  std::vector<IncidentPattern> patterns(4);
  patterns[0].names = {"*a*"};
  patterns[1].of = Of::exceptions;
  patterns[2].of = Of::requests;
  patterns[2].names = {"/a/**/*b"};
  patterns[2].slower_than = std::chrono::milliseconds(1);
  patterns[3].of = Of::requests;
  patterns[3].statuses = {{400, 599}};
  IncidentReader reader(patterns);
  read_events(in, reader, [&] {
    for (const Incident& each : reader.take(IncidentReader::Clock::now())) {
      const auto again = incident_from_json(to_json(each));
      require(again && again->pattern == each.pattern && again->count == each.count,
              "what a reader says of an incident is understood");
    }
  });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data, size));
  constexpr std::array kKinds{ReadingTask::Kind::counters, ReadingTask::Kind::logs,
                              ReadingTask::Kind::exceptions, ReadingTask::Kind::stacks};
  const std::size_t kind = data[0] % (kKinds.size() + 3);
  const nettrace::Cursor in(bytes.subspan(1), 0);
  if (kind < kKinds.size()) make_lines(kKinds[kind], in);
  if (kind == kKinds.size()) pass_measurements(in);
  if (kind == kKinds.size() + 2) find_incidents(in);
  // What a reader that has been taken over may say.
  if (kind == kKinds.size() + 1) {
    const std::string_view said(reinterpret_cast<const char*>(data) + 1, size - 1);
    std::ignore = incident_from_json(said);
    std::ignore = decode_measurement(said);
    std::ignore = decode_exception(said);
    std::ignore = decode_method(said);
    std::ignore = decode_failure(said);
  }
  return 0;
}
