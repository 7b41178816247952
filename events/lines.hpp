// EventFormatter: turns events into lines of output, as they come or at the end.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "events/exceptions.hpp"
#include "events/logs.hpp"
#include "events/measurements.hpp"
#include "events/methods.hpp"
#include "events/sampled_profile.hpp"
#include "nettrace/event.hpp"

namespace farport::events {

class EventFormatter : public nettrace::Handler {
 public:
  /// The lines since the last call, with newlines, ordered by time.
  [[nodiscard]] virtual std::string drain_lines() { return {}; }
  /// Whether it has all it needs, so that the recording may stop.
  [[nodiscard]] virtual bool has_enough() const { return false; }
  /// Output after the last event. Fails if the events do not suffice.
  [[nodiscard]] virtual Result<std::string> take_end() { return std::string(); }
  /// Messages for people since the last call, separate from the lines.
  [[nodiscard]] virtual std::vector<std::string> take_notices() { return {}; }
};

/// One line of JSON, without a newline.
[[nodiscard]] std::string to_json(const Measurement& measurement);
[[nodiscard]] std::string to_json(const LogEntry& entry);
/// `frames`: names of its stack, the innermost first.
[[nodiscard]] std::string to_json(const ThrownException& thrown, const std::vector<std::string>& frames);

/// A JSON list in many lines, readable by people as well. Written in pieces, since it may be long.
void write_json(const EachStack& stacks, const std::function<void(std::string_view)>& to);

/// An application's log entries as lines.

class LogLines final : public EventFormatter {
 public:
  /// `line_of`: formats an entry, with its newline.
  explicit LogLines(std::function<std::string(const LogEntry&)> line_of) : line_of_(std::move(line_of)) {}

  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override;
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override;
  std::string drain_lines() override;
  std::vector<std::string> take_notices() override;

 private:
  std::function<std::string(const LogEntry&)> line_of_;
  nettrace::TraceHeader trace_;
  std::vector<LogEntry> entries_;
  std::uint64_t dropped_ = 0;
};

/// Most notices shown for one recording.
inline constexpr std::size_t kMaxNotices = 10;

/// Collects an application's wanted counter values, and the runtime's notices about them.
class MeasurementReader : public EventFormatter {
 public:
  using Takes = std::function<bool(const Measurement&)>;

  /// `session`: the meters' session id. `takes`: whether a measurement is wanted.
  MeasurementReader(std::string_view session, Takes takes) : decoder_(session), takes_(std::move(takes)) {}

  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override;
  /// At most kMaxNotices, then a note that there are more.
  std::vector<std::string> take_notices() override { return std::exchange(notices_, {}); }

  /// Whether the runtime refused to send meters and nothing else has come.
  [[nodiscard]] bool is_refused() const { return refused_ && !any_; }

  /// The measurements since the last call.
  [[nodiscard]] std::vector<Measurement> take() { return std::exchange(measurements_, {}); }

 private:
  void notice(const MeterNotice& notice);

  MeasurementDecoder decoder_;
  Takes takes_;
  nettrace::TraceHeader trace_;
  std::vector<Measurement> measurements_;
  std::vector<std::string> notices_;
  std::string noticed_;  ///< The latest notice.
  std::size_t notice_count_ = 0;
  bool refused_ = false;
  bool any_ = false;
};

/// Each measurement as a JSON object.
class JsonMeasurementLines final : public MeasurementReader {
 public:
  using MeasurementReader::MeasurementReader;
  std::string drain_lines() override;
};

/// The exceptions of a recording as lines of JSON, ordered by time. Keeps exceptions until the rundown has
/// named the methods on their stacks. If there are more than it keeps, the last line has their number:
/// {"left_out":N}.
class ExceptionReport final : public EventFormatter {
 public:
  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override;
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override;
  Result<std::string> take_end() override;

 private:
  nettrace::TraceHeader trace_;
  std::vector<ThrownException> thrown_;
  CodeAddresses on_stacks_;
  MethodTable methods_{on_stacks_};
  std::size_t held_ = 0;
  std::uint64_t left_out_ = 0;
};

/// Selects the event that ends a recording. Each part narrows it down; a part may be left out together with
/// those after it.
struct EventFilter {
  std::string provider;
  std::string event;  ///< Name or id, since the runtime's own events have no names.
  std::vector<std::pair<std::string, std::string>> fields;  ///< Names and values.

  /// `payload`: "NAME:VALUE,NAME:VALUE". Fails if a part lacks the one before it or can't be parsed.
  static Result<EventFilter> parse(std::string provider, std::string event, const std::string& payload);
};

class StoppingEvent final : public EventFormatter {
 public:
  explicit StoppingEvent(EventFilter filter) : filter_(std::move(filter)) {}

  void on_event(const nettrace::Event& event) override;
  /// Whether the event has come.
  [[nodiscard]] bool has_enough() const override { return seen_; }

 private:
  EventFilter filter_;
  bool seen_ = false;
};

}  // namespace farport::events
