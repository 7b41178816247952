// Values of an application's counters: of its EventCounters, and of its meters (System.Diagnostics.Metrics).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "events/fields.hpp"

namespace farport::events {

struct Measurement {
  enum class Kind : std::uint8_t {
    gauge,      ///< A value as it is. An EventCounter's is the mean of the interval.
    rate,       ///< How much it has grown in the interval.
    up_down,    ///< A sum that grows and shrinks, as it is.
    histogram,  ///< How values of the interval are spread.
  };

  Time time;
  bool is_meter = false;  ///< Of a meter, not of an EventSource.
  std::string provider;   ///< The meter's or the EventSource's name.
  std::string name;
  std::string display_name;  ///< For people; empty where it has none.
  std::string unit;
  std::string tags;  ///< "http.route=/,http.response.status_code=200"; empty where it has none.
  Kind kind = Kind::gauge;
  double value = 0;             ///< Of a histogram: how many values there were.
  std::optional<double> total;  ///< Of a rate: since the instrument began, where it is said.
  std::optional<double> sum;    ///< Of a histogram's values.
  std::vector<std::pair<double, double>> quantiles;  ///< "0.5" and its value, and so on.
  double interval = 0;                               ///< In seconds; 0 where it is not said.
};

/// What the runtime has to say of the session instead of values.
struct MeterNotice {
  std::string text;    ///< For people.
  bool fatal = false;  ///< No values will come.
};

/// What the event says; monostate where it is about something else, or about another session.
[[nodiscard]] std::variant<std::monostate, Measurement, MeterNotice> read_measurement(
    const nettrace::TraceHeader& trace, const nettrace::Event& event, std::string_view session);

[[nodiscard]] std::string_view to_string(Measurement::Kind kind);

// How a runtime is, in a few numbers that all runtimes have.

/// What is not known is not there.
struct Vitals {
  std::optional<double> cpu;                  ///< In percent of one processor.
  std::optional<double> working_set;          ///< In bytes.
  std::optional<double> heap;                 ///< The GC's, after its last collection, in bytes.
  std::map<std::string, double> generations;  ///< The same by generation: "gen0", "loh".
  std::optional<double> allocated;            ///< In bytes a second.
  std::optional<double> gc_pause;             ///< In percent of the time.
  std::optional<double> exceptions;           ///< A second.
  std::optional<double> threads;              ///< Of the thread pool.
  std::optional<double> queued;               ///< Work that waits for one.
  std::optional<double> requests;             ///< Of ASP.NET, a second.
  std::optional<double> slow_request;         ///< The 99th percentile of how long one took, in seconds.
};

/// Takes them from the runtime's meters (.NET 9 and later), or from its EventCounters.
class VitalsReader {
 public:
  /// `interval`: how often measurements come, in seconds. `processors`: that the runtime says it has.
  VitalsReader(double interval, unsigned processors)
      : interval_(interval), processors_(processors > kMostProcessors ? 0 : processors) {}

  void take(const Measurement& measurement);
  [[nodiscard]] Vitals vitals() const;
  /// Whether it says so: .NET 8's NativeAOT has 65,535 there. What its EventCounters say of the processor
  /// can't be told then, since that is a share of all.
  [[nodiscard]] bool knows_processors() const { return processors_ > 0; }

 private:
  /// No machine has more.
  static constexpr unsigned kMostProcessors = 16'384;

  [[nodiscard]] std::optional<double> sum(const char* name, const char* tag = "") const;
  [[nodiscard]] std::optional<double> rate(const char* name) const;
  void add_meters(Vitals& vitals) const;
  void add_counters(Vitals& vitals) const;

  double interval_;
  unsigned processors_;  ///< 0: not known.
  /// The last of each, by name and tags.
  std::map<std::pair<std::string, std::string>, Measurement> last_;
};

/// It holds no more of them: an application may have as many tags as it likes.
inline constexpr std::size_t kMostVitalMeasurements = 1000;

}  // namespace farport::events
