// Metrics of applications: keeps a session with each runtime, so that Prometheus can ask for its counters.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/log.hpp"
#include "events/measurements.hpp"
#include "router/agent/own_readings/own_reading.hpp"
#include "router/agent/runtimes/meter_claims.hpp"
#include "router/agent/runtimes/own_session.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/readers/reader_process.hpp"
#include "router/recordings/counters.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// The last value of one instrument with one set of tags.
struct MetricSeries {
  events::Measurement last;
  /// For a rate and a histogram: the total since the session began, or since the instrument did if the
  /// runtime says so.
  double count = 0;
  double sum = 0;  ///< For a histogram: the sum of its values.
  std::chrono::steady_clock::time_point heard;
};

/// The series of one runtime.
class MetricTable {
 public:
  using Clock = std::chrono::steady_clock;

  /// `most` is the largest number of series.
  explicit MetricTable(std::size_t most) : most_(most) {}

  /// Adds what the runtime has reported at `now`. Leaves out new series beyond the limit.
  void take(const events::Measurement& measurement, Clock::time_point now);
  /// Forgets all values, since the session has ended.
  void clear() { series_.clear(); }

  /// Calls `each(series)` for all series that were reported within kStale before `now`.
  template <typename Each>
  void for_each(Clock::time_point now, const Each& each) const {
    for (const auto& [key, series] : series_) {
      if (now - series.heard <= kStale) each(series);
    }
  }
  [[nodiscard]] std::size_t size() const { return series_.size(); }

  /// The time for which Prometheus takes a value as the present one.
  static constexpr std::chrono::minutes kStale{5};

 private:
  /// Provider, name and tags.
  using Key = std::tuple<std::string, std::string, std::string>;

  void remove_stale(Clock::time_point now);

  std::size_t most_;
  std::map<Key, MetricSeries> series_;
};

/// The metrics of several runtimes in the text format 0.0.4 of Prometheus. Samples of one name stand
/// together, whichever runtimes they belong to.
class MetricFamilies {
 public:
  void add(const Runtime& runtime, const MetricSeries& series);
  [[nodiscard]] std::string text() const;

 private:
  struct Sample {
    std::string suffix;
    std::string labels;
    double value = 0;
  };
  struct Family {
    std::string unit;
    std::vector<Sample> samples;
    std::map<std::string, std::size_t> series{};  ///< How many have the same labels otherwise.
  };
  /// A name and a type.
  using Key = std::pair<std::string, std::string>;

  std::map<Key, Family> families_;
};

/// Makes a valid name for Prometheus: letters, digits and underscores. Other characters become underscores.
[[nodiscard]] std::string metric_name(std::string_view text);

/// Which counters of applications the agent keeps, and within which limits.
struct AppMetricsSettings {
  CounterSelection counters;
  std::string names;  ///< The same selection as text, for selection_named().
  CounterLimits limits;
  /// Which of them Prometheus gets; empty: none, since rules want them.
  std::optional<CounterSelection> shown;
  /// Where it is set, only these runtimes have a session.
  std::function<bool(const Runtime&)> wanted;
};

/// Gets each measurement of a runtime that comes from its session.
using OnMeasurement = std::function<void(const Runtime&, const events::Measurement&)>;

/// The measurements of one runtime for as long as it is listed, and its last values in a table.
class MetricSession {
 public:
  /// Begins at once (see OwnReading). All references must outlive it.
  MetricSession(transport::Loop& loop, Registry& registry, MemoryGroups& groups, Readers readers,
                const Log& log, const AppMetricsSettings& settings, const OwnReadingSettings& reading,
                const OnMeasurement& on_measurement, Runtime runtime);
  MetricSession(const MetricSession&) = delete;
  MetricSession& operator=(const MetricSession&) = delete;

  [[nodiscard]] const Runtime& runtime() const { return reading_.runtime(); }
  void change(Runtime runtime) { reading_.change(std::move(runtime)); }
  [[nodiscard]] const MetricTable& table() const { return table_; }
  /// Why there are no measurements at present; empty if they come.
  [[nodiscard]] const std::string& why_not() const { return reading_.why_not(); }

  /// Has the runtime stop the session for good.
  transport::Task<void> end() { return reading_.end(); }

 private:
  Result<void> take(const Reading::Frame& frame);

  const OnMeasurement& on_measurement_;
  std::optional<CounterSelection> shown_;
  MetricTable table_;
  OwnReading reading_;
};

/// Keeps a MetricSession for each runtime in the registry.
class AppMetrics {
 public:
  AppMetrics(transport::Loop& loop, Registry& registry, MemoryGroups& groups, MeterClaims& meters,
             Readers readers, Log log, AppMetricsSettings settings, OnMeasurement on_measurement = {});
  AppMetrics(const AppMetrics&) = delete;
  AppMetrics& operator=(const AppMetrics&) = delete;

  /// Follows the registry until it is cancelled. A session that fails or ends is tried again later.
  transport::Task<void> run() { return kept_.run(); }
  /// Stops all sessions, and waits for that a limited time. Begins no new ones.
  transport::Task<void> end();

  /// The metrics of the runtimes that pass the filter, in the text format of Prometheus.
  [[nodiscard]] std::string text(const Registry::Filter& filter) const;
  /// Why there are no measurements of this runtime at present; empty if they come.
  [[nodiscard]] std::string why_not(const std::string& runtime_id) const;

 private:
  Log log_;
  AppMetricsSettings settings_;
  OnMeasurement on_measurement_;
  OwnReadingSettings reading_;
  PerRuntime<MetricSession> kept_;
};

}  // namespace farport::router
