#include "events/lines.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "events/fields.hpp"

namespace farport::events {
namespace {

using Json = nlohmann::ordered_json;

void add_unless_empty(Json& json, const char* name, const std::string& text) {
  if (!text.empty()) json[name] = text;
}

/// Applications log JSON; anything else, or deeply nested JSON, becomes a string.
Json nested(const std::string& text) {
  constexpr int kDeepest = 8;
  const auto not_too_deep = [](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    return depth < kDeepest;
  };
  Json parsed = Json::parse(text, not_too_deep, false);
  return parsed.is_discarded() ? Json(text) : parsed;
}

std::string line_of(const Json& json) {
  // Invalid UTF-8 is replaced, so that the line is JSON whatever the runtime sends.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// One thread as an element of a JSON list.
std::string element_of(const ThreadStack& stack) {
  Json thread;
  thread["thread"] = stack.thread;
  add_unless_empty(thread, "name", stack.name);
  if (stack.managed) thread["managed"] = *stack.managed;
  thread["stack"] = stack.frames;
  const std::string text = thread.dump(2, ' ', false, Json::error_handler_t::replace);
  // Newlines within strings are escaped, so each of these begins a line of the layout.
  std::string indented = "  ";
  for (const char each : text) {
    indented += each;
    if (each == '\n') indented += "  ";
  }
  return indented;
}

}  // namespace

std::string to_json(const Measurement& measurement) {
  Json json;
  json["time"] = to_string(measurement.time);
  json["provider"] = measurement.provider;
  json["name"] = measurement.name;
  add_unless_empty(json, "display_name", measurement.display_name);
  add_unless_empty(json, "unit", measurement.unit);
  add_unless_empty(json, "tags", measurement.tags);
  json["kind"] = to_string(measurement.kind);
  if (measurement.kind != Measurement::Kind::histogram) {
    json[measurement.kind == Measurement::Kind::rate ? "increase" : "value"] = measurement.value;
    if (measurement.total) json["value"] = *measurement.total;
    if (measurement.interval > 0) json["interval"] = measurement.interval;
    return line_of(json);
  }
  json["count"] = measurement.value;
  if (measurement.sum) json["sum"] = *measurement.sum;
  Json& quantiles = json["quantiles"] = Json::object();
  for (const auto& [quantile, value] : measurement.quantiles) quantiles[Json(quantile).dump()] = value;
  return line_of(json);
}

std::string to_json(const LogEntry& entry) {
  Json json;
  json["time"] = to_string(entry.time);
  json["level"] = to_string(entry.level);
  json["category"] = entry.category;
  if (entry.event_id != 0) json["event_id"] = entry.event_id;
  add_unless_empty(json, "event_name", entry.event_name);
  json["message"] = entry.message;
  if (!entry.arguments.empty()) json["arguments"] = nested(entry.arguments);
  if (!entry.exception.empty() && entry.exception != "{}") json["exception"] = nested(entry.exception);
  add_unless_empty(json, "trace_id", entry.trace_id);
  add_unless_empty(json, "span_id", entry.span_id);
  json["thread"] = entry.thread;
  return line_of(json);
}

std::string to_json(const ThrownException& thrown, const std::vector<std::string>& frames) {
  Json json;
  json["time"] = to_string(thrown.time);
  json["type"] = thrown.type;
  json["message"] = thrown.message;
  json["hresult"] = thrown.hresult;
  if (thrown.rethrown) json["rethrown"] = true;
  if (thrown.nested) json["nested"] = true;
  json["thread"] = thrown.thread;
  json["stack"] = frames;
  return line_of(json);
}

void write_json(const EachStack& stacks, const std::function<void(std::string_view)>& to) {
  bool first = true;
  stacks([&](const ThreadStack& stack) {
    to(std::exchange(first, false) ? "[\n" : ",\n");
    to(element_of(stack));
  });
  to(first ? "[]\n" : "\n]\n");
}

void LogLines::on_event(const nettrace::Event& event) {
  auto entry = read_log_entry(trace_, event);
  if (!entry) return;
  entries_.push_back(std::move(*entry));
}

void LogLines::on_dropped(const nettrace::Thread& /*thread*/, std::uint32_t events) {
  dropped_ += events;
}

std::string LogLines::drain_lines() {
  // Events come thread by thread, so sort them by time.
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const LogEntry& a, const LogEntry& b) { return a.time < b.time; });
  std::string lines;
  for (const LogEntry& entry : entries_) lines += line_of_(entry);
  entries_.clear();
  return lines;
}

std::vector<std::string> LogLines::take_notices() {
  const std::uint64_t dropped = std::exchange(dropped_, 0);
  if (dropped == 0) return {};
  return {"the runtime has dropped " + std::to_string(dropped) + " events: it had no room"};
}

void MeasurementReader::notice(const MeterNotice& notice) {
  refused_ = refused_ || notice.fatal;
  if (noticed_ == notice.text) return;
  noticed_ = notice.text;
  if (++notice_count_ <= kMaxNotices) notices_.push_back(noticed_);
  if (notice_count_ == kMaxNotices + 1)
    notices_.emplace_back("the runtime has more to tell, which is left out");
}

void MeasurementReader::on_event(const nettrace::Event& event) {
  auto read = decoder_.read(trace_, event);
  if (const auto* const told = std::get_if<MeterNotice>(&read)) return notice(*told);
  auto* const measurement = std::get_if<Measurement>(&read);
  if (measurement == nullptr || !takes_(*measurement)) return;
  measurements_.push_back(std::move(*measurement));
  any_ = true;
}

std::string JsonMeasurementLines::drain_lines() {
  std::string lines;
  for (const Measurement& each : take()) lines += to_json(each) + "\n";
  return lines;
}

namespace {

constexpr std::size_t kMaxBytes = std::size_t{8} << 20;

std::size_t size_of(const ThrownException& thrown) {
  return sizeof thrown + thrown.type.size() + thrown.message.size() +
         thrown.stack.size() * sizeof thrown.stack.front();
}

}  // namespace

void ExceptionReport::on_event(const nettrace::Event& event) {
  if (!is_exception(event)) return methods_.add(event);
  // An estimate, checked before decoding: there may be many more exceptions than are kept.
  const bool room = held_ + event.payload.size() + event.stack.size() * sizeof(std::uint64_t) <= kMaxBytes;
  if (!room) {
    ++left_out_;
  } else if (auto thrown = read_exception(trace_, event)) {
    held_ += size_of(*thrown);
    on_stacks_.add(thrown->stack);
    thrown_.push_back(std::move(*thrown));
  }
}

void ExceptionReport::on_dropped(const nettrace::Thread& /*thread*/, std::uint32_t events) {
  left_out_ += events;
}

Result<std::string> ExceptionReport::take_end() {
  std::ranges::stable_sort(thrown_, {}, &ThrownException::time);
  std::string lines;
  for (const ThrownException& thrown : thrown_) {
    auto frames = methods_.names_of(thrown.stack);
    drop_dispatch(frames);
    lines += to_json(thrown, frames) + "\n";
  }
  if (left_out_ > 0) lines += fmt::format("{{\"left_out\":{}}}\n", left_out_);
  return lines;
}

namespace {

bool is_event(const nettrace::Definition& definition, const EventFilter& filter) {
  if (definition.provider != filter.provider) return false;
  return filter.event.empty() || definition.name == filter.event ||
         std::to_string(definition.event_id) == filter.event;
}

}  // namespace

Result<EventFilter> EventFilter::parse(std::string provider, std::string event, const std::string& payload) {
  const auto wrong = [](std::string_view what, std::string why) {
    return fail("end at the event", what, std::move(why), "see farport help trace");
  };
  if (provider.empty() && !(event.empty() && payload.empty()))
    return wrong(event, "its provider is not given: --stopping-event-provider-name");
  if (event.empty() && !payload.empty())
    return wrong(provider, "its name is not given: --stopping-event-event-name");
  EventFilter filter{std::move(provider), std::move(event), {}};
  for (std::size_t at = 0; at < payload.size();) {
    const std::size_t end = std::min(payload.find(',', at), payload.size());
    const std::string field = payload.substr(at, end - at);
    const std::size_t colon = field.find(':');
    if (colon == std::string::npos || colon == 0) return wrong(field, "it is not NAME:VALUE");
    filter.fields.emplace_back(field.substr(0, colon), field.substr(colon + 1));
    at = end + 1;
  }
  return filter;
}

void StoppingEvent::on_event(const nettrace::Event& event) {
  if (seen_ || !is_event(event.definition, filter_)) return;
  const Fields fields(event);
  seen_ = std::ranges::all_of(
      filter_.fields, [&](const auto& wanted) { return fields.shown(wanted.first) == wanted.second; });
}

}  // namespace farport::events
