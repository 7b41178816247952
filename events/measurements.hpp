// Measurement: a counter value of an application, from its EventCounters or its meters
// (System.Diagnostics.Metrics).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "events/fields.hpp"
#include "events/tags.hpp"

namespace farport::events {

struct Measurement {
  enum class Kind : std::uint8_t {
    gauge,      ///< A current value; of an EventCounter, the interval's mean.
    rate,       ///< Growth within the interval.
    up_down,    ///< The current value of a sum that grows and shrinks.
    histogram,  ///< Distribution of the interval's values.
  };

  Time time;
  bool is_meter = false;  ///< From a meter, not from an EventCounter.
  std::string provider;   ///< The meter's or the EventSource's name.
  std::string name;
  std::string display_name;  ///< For people; may be empty.
  std::string unit;
  /// "http.route=/,http.response.status_code=200": of the value, then of its instrument and of its meter. It
  /// tells series of one name apart; may be empty.
  std::string tags;
  Tags labels;  ///< The same, by name.
  Kind kind = Kind::gauge;
  double value = 0;                                  ///< For a histogram, the number of values.
  std::optional<double> total;                       ///< For a rate: since the instrument began, if reported.
  std::optional<double> sum;                         ///< Sum of a histogram's values.
  std::vector<std::pair<double, double>> quantiles;  ///< Such as 0.5 and its value.
  double interval = 0;                               ///< In seconds; 0 if not reported.
};

/// A message from the runtime about the session, instead of values.
struct MeterNotice {
  std::string text;    ///< For people.
  bool fatal = false;  ///< No values will come.
};

/// Decodes the measurements of one recording.
class MeasurementDecoder {
 public:
  using Read = std::variant<std::monostate, Measurement, MeterNotice>;

  /// `session`: the meters' session id.
  explicit MeasurementDecoder(std::string_view session) : session_(session) {}

  /// Decodes the event; monostate if it is about something else or another session.
  [[nodiscard]] Read read(const nettrace::TraceHeader& trace, const nettrace::Event& event);

 private:
  /// An instrument that the runtime has announced.
  struct Instrument {
    std::string version;  ///< Of its meter.
    std::string scope;    ///< The same; made of who has made the meter.
    std::string tags;     ///< Its own, and its meter's.
    std::string mark;     ///< What tells it from one that is there already; empty for the first.
    Tags labels;          ///< Of all these.

    [[nodiscard]] bool is_like(const Instrument& other) const {
      return version == other.version && scope == other.scope && tags == other.tags;
    }
  };
  using Name = std::pair<std::string, std::string>;  ///< Of the meter, and of the instrument.

  [[nodiscard]] Read read_meter(const nettrace::TraceHeader& trace, const nettrace::Event& event);
  [[nodiscard]] Read announce(const Fields& fields);
  void forget(const Fields& fields);
  [[nodiscard]] static Instrument described(const Fields& fields);
  void mark(Instrument& made, const std::vector<std::int64_t>& known) const;
  void add_tags(Measurement& made, const Fields& fields);
  [[nodiscard]] TagReader& tags_of(const Measurement& measurement);

  std::string session_;
  std::map<std::int64_t, Instrument> announced_;  ///< By its number.
  std::map<Name, std::vector<std::int64_t>> numbers_;
  std::int64_t unnumbered_ = 0;  ///< The last number for one that has none of its own.
  std::map<Name, TagReader> tags_;
};

[[nodiscard]] std::string_view to_string(Measurement::Kind kind);

/// How a runtime is doing, in a few numbers that all runtimes have. Unknown ones are empty.
struct Vitals {
  std::optional<double> cpu;                  ///< Percent of one processor.
  std::optional<double> working_set;          ///< In bytes.
  std::optional<double> heap;                 ///< GC heap after the last collection, in bytes.
  std::map<std::string, double> generations;  ///< By generation: "gen0", "loh".
  std::optional<double> allocated;            ///< Bytes per second.
  std::optional<double> gc_pause;             ///< Percent of the time.
  std::optional<double> exceptions;           ///< Per second.
  std::optional<double> threads;              ///< Threads of the thread pool.
  std::optional<double> queued;               ///< Work items waiting for a thread.
  std::optional<double> requests;             ///< ASP.NET requests per second.
  std::optional<double> slow_request;         ///< 99th percentile of ASP.NET's request time, in seconds.
};

/// Collects vitals from the runtime's meters (.NET 9 and later) or its EventCounters.
class VitalsReader {
 public:
  /// `interval`: between measurements, in seconds. `processors`: the number that the runtime reports.
  VitalsReader(double interval, unsigned processors)
      : interval_(interval), processors_(processors > kMaxProcessors ? 0 : processors) {}

  void take(const Measurement& measurement);
  [[nodiscard]] Vitals vitals() const;
  /// Whether the number of processors is known: NativeAOT of .NET 8 reports 65,535. Without it, CPU usage
  /// can't be computed from EventCounters, which report a share of all processors.
  [[nodiscard]] bool knows_processors() const { return processors_ > 0; }

 private:
  /// A higher number is invalid.
  static constexpr unsigned kMaxProcessors = 16'384;

  [[nodiscard]] std::optional<double> sum(const char* name, const char* tag = "") const;
  [[nodiscard]] std::optional<double> rate(const char* name) const;
  void add_meters(Vitals& vitals) const;
  void add_counters(Vitals& vitals) const;

  double interval_;
  unsigned processors_;  ///< 0: unknown.
  /// The latest of each, by name and tags.
  std::map<std::pair<std::string, std::string>, Measurement> last_;
};

/// Limit of kept measurements, since an application may have any number of tags.
inline constexpr std::size_t kMaxVitalMeasurements = 1000;

}  // namespace farport::events
