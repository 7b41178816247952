// Metrics of applications: keeps a session with each runtime, so that Prometheus can ask for its counters.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/log.hpp"
#include "events/measurements.hpp"
#include "router/agent/runtimes/meter_claims.hpp"
#include "router/agent/runtimes/own_session.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/readers/reader_process.hpp"
#include "router/recordings/counters.hpp"
#include "router/wire/runtime.hpp"
#include "transport/task_set.hpp"

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
  /// A name has one type: a metric of the same name and another type, from another meter, is left out.
  void add(const Runtime& runtime, const MetricSeries& series);
  [[nodiscard]] std::string text() const;

 private:
  struct Sample {
    std::string suffix;
    std::string labels;
    double value = 0;
  };
  struct Family {
    std::string type;
    std::string unit;
    std::vector<Sample> samples;
  };

  std::map<std::string, Family> families_;
};

/// Makes a valid name for Prometheus: letters, digits and underscores. Other characters become underscores.
[[nodiscard]] std::string metric_name(std::string_view text);

/// Which counters of applications the agent keeps, and within which limits.
struct AppMetricsSettings {
  CounterSelection counters;
  std::string names;  ///< The same selection as text, for selection_named().
  CounterLimits limits;
};

/// Keeps a session with one runtime for as long as the runtime is listed, and its last values in a table.
class MetricSession {
 public:
  /// Begins at once, and tries again after a while if the session fails or ends. Stops for callers who read
  /// meters in another way. All arguments must outlive it.
  MetricSession(transport::Loop& loop, Registry& registry, MeterClaims& meters, Readers readers,
                const Log& log, const AppMetricsSettings& settings, Runtime runtime);
  MetricSession(const MetricSession&) = delete;
  MetricSession& operator=(const MetricSession&) = delete;

  [[nodiscard]] const Runtime& runtime() const { return runtime_; }
  /// Takes over what has changed about the runtime.
  void change(Runtime runtime) { runtime_ = std::move(runtime); }
  [[nodiscard]] const MetricTable& table() const { return table_; }

  /// Has the runtime stop the session for good.
  transport::Task<void> end();

 private:
  transport::Task<void> run();
  transport::Task<void> stop();
  transport::Task<void> tell_to_stop(ipc::SessionId session);
  enum class HowEnded : std::uint8_t { by_itself, gave_way };
  transport::Task<Result<HowEnded>> record(ReadingRequest wanted_reading);
  transport::Task<void> read_to_end(transport::FdStream& from, ReadingRequest wanted, Result<void>& how,
                                    transport::Event& over);
  transport::Task<Result<void>> read_values(transport::FdStream& from, ReadingRequest wanted);

  transport::Loop& loop_;
  Registry& registry_;
  MeterClaims& meters_;
  Readers readers_;
  const Log& log_;
  const AppMetricsSettings& settings_;
  Runtime runtime_;
  MetricTable table_;
  std::optional<ipc::SessionId> session_;
  bool stopping_ = false;
  transport::Condition stopped_;
  transport::TaskSet tasks_;
};

/// Keeps a MetricSession for each runtime in the registry.
class AppMetrics {
 public:
  AppMetrics(transport::Loop& loop, Registry& registry, MeterClaims& meters, Readers readers, Log log,
             AppMetricsSettings settings);
  AppMetrics(const AppMetrics&) = delete;
  AppMetrics& operator=(const AppMetrics&) = delete;

  /// Follows the registry until it is cancelled. A session that fails or ends is tried again later.
  transport::Task<void> run() { return kept_.run(); }
  /// Stops all sessions, and waits for that a limited time. Begins no new ones.
  transport::Task<void> end();

  /// The metrics of the runtimes that pass the filter, in the text format of Prometheus.
  [[nodiscard]] std::string text(const Registry::Filter& filter) const;

 private:
  Log log_;
  AppMetricsSettings settings_;
  PerRuntime<MetricSession> kept_;
};

}  // namespace farport::router
