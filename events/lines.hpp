// Makes lines of events, as they come or at their end.
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

class LineMaker : public nettrace::Handler {
 public:
  /// Those that have been made since the last call, each with its newline, in the order of time.
  [[nodiscard]] virtual std::string take_lines() { return {}; }
  /// Whether it has all that it is for: the recording may be stopped then.
  [[nodiscard]] virtual bool has_enough() const { return false; }
  /// What is said once nothing more comes. Errors: that is not enough for it.
  [[nodiscard]] virtual Result<std::string> take_end() { return std::string(); }
  /// What is to be said beside them, since the last call: for people.
  [[nodiscard]] virtual std::vector<std::string> take_notices() { return {}; }
};

// What is made of events as JSON.

/// Each of these is one line, without its newline.
[[nodiscard]] std::string to_json(const Measurement& measurement);
[[nodiscard]] std::string to_json(const LogEntry& entry);
/// `frames`: of its stack, the innermost first.
[[nodiscard]] std::string to_json(const ThrownException& thrown, const std::vector<std::string>& frames);

/// A list in many lines, for people as well: in pieces, since it may be long.
void write_json(const EachStack& stacks, const std::function<void(std::string_view)>& to);

// An application's log as lines.

class LogLines final : public LineMaker {
 public:
  /// `line_of`: an entry with its newline.
  explicit LogLines(std::function<std::string(const LogEntry&)> line_of) : line_of_(std::move(line_of)) {}

  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override;
  void on_dropped(const nettrace::Thread& thread, std::uint32_t events) override;
  std::string take_lines() override;
  std::vector<std::string> take_notices() override;

 private:
  std::function<std::string(const LogEntry&)> line_of_;
  nettrace::TraceHeader trace_;
  std::vector<LogEntry> entries_;
  std::uint64_t dropped_ = 0;
};

// An application's counters as lines.

/// Notices shown of one recording.
inline constexpr std::size_t kMostNotices = 10;

/// Collects those that are wanted, and what the runtime has to say of them.
class MeasurementReader : public LineMaker {
 public:
  using Takes = std::function<bool(const Measurement&)>;

  /// `session`: of the meters. `takes`: whether one is wanted.
  MeasurementReader(std::string_view session, Takes takes) : session_(session), takes_(std::move(takes)) {}

  void on_trace(const nettrace::TraceHeader& trace) override { trace_ = trace; }
  void on_event(const nettrace::Event& event) override;
  /// kMostNotices of them, and that there are more.
  std::vector<std::string> take_notices() override { return std::exchange(notices_, {}); }

  /// Whether the runtime has refused to tell meters, and nothing else has come.
  [[nodiscard]] bool is_refused() const { return refused_ && !any_; }

  /// What has come since the last call.
  [[nodiscard]] std::vector<Measurement> take() { return std::exchange(measurements_, {}); }

 private:
  void notice(const MeterNotice& notice);

  std::string session_;
  Takes takes_;
  nettrace::TraceHeader trace_;
  std::vector<Measurement> measurements_;
  std::vector<std::string> notices_;
  std::string noticed_;  ///< The last one.
  std::size_t notice_count_ = 0;
  bool refused_ = false;
  bool any_ = false;
};

/// Each as an object.
class JsonMeasurementLines final : public MeasurementReader {
 public:
  using MeasurementReader::MeasurementReader;
  std::string take_lines() override;
};

/// The exceptions of a recording, once it has ended.
/// Keeps what is thrown until the rundown has named the methods that are on the stacks. A line of JSON each,
/// in the order of time; where there are more than it keeps, the last line says how many: {"left_out":N}.
class ExceptionReport final : public LineMaker {
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

// The event that a recording is to end at.

/// Which event: each part narrows it down, and may be left out together with those behind it.
struct EventFilter {
  std::string provider;
  std::string event;  ///< Its name; or its number, since the runtime's own events come without names.
  std::vector<std::pair<std::string, std::string>> fields;  ///< Names and values.

  /// `payload`: "NAME:VALUE,NAME:VALUE". Errors: a part without the one before it, or that can't be read.
  static Result<EventFilter> parse(std::string provider, std::string event, const std::string& payload);
};

class StoppingEvent final : public LineMaker {
 public:
  explicit StoppingEvent(EventFilter filter) : filter_(std::move(filter)) {}

  void on_event(const nettrace::Event& event) override;
  /// Once it has come.
  [[nodiscard]] bool has_enough() const override { return seen_; }

 private:
  EventFilter filter_;
  bool seen_ = false;
};

}  // namespace farport::events
