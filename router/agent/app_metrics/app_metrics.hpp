// Keeps one session with each runtime, so that its counters are there whenever Prometheus asks.
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
#include "router/agent/runtimes/registry.hpp"
#include "router/readers/reader_process.hpp"
#include "router/wanted/counters.hpp"
#include "router/wire/runtime.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

// The last values of what one application counts.

/// One instrument with one set of tags.
struct MetricSeries {
  events::Measurement last;
  /// Of a rate and of a histogram: all there has been since the session began, or since the instrument did
  /// where the runtime says so.
  double count = 0;
  double sum = 0;  ///< Of a histogram's values.
  std::chrono::steady_clock::time_point heard;
};

class MetricTable {
 public:
  using Clock = std::chrono::steady_clock;

  /// `most`: how many series it keeps.
  explicit MetricTable(std::size_t most) : most_(most) {}

  /// Takes in what the runtime tells at `now`. A series beyond the most is left out, as is one
  /// with very long names.
  void take(const events::Measurement& measurement, Clock::time_point now);
  /// The session has ended: nothing is said any more until the next one says it.
  void clear() { series_.clear(); }

  /// Calls `each(series)` for those that have been heard of within kStale before `now`.
  template <typename Each>
  void for_each(Clock::time_point now, const Each& each) const {
    for (const auto& [key, series] : series_) {
      if (now - series.heard <= kStale) each(series);
    }
  }
  [[nodiscard]] std::size_t size() const { return series_.size(); }

  /// As long as Prometheus takes a value for the present one.
  static constexpr std::chrono::minutes kStale{5};

 private:
  /// Provider, name and tags.
  using Key = std::tuple<std::string, std::string, std::string>;

  void remove_stale(Clock::time_point now);

  std::size_t most_;
  std::map<Key, MetricSeries> series_;
};

// What several applications count, as Prometheus has it (text format 0.0.4).

/// All samples of one name stand together, whichever runtimes they are of.
class MetricFamilies {
 public:
  /// A name stands for one kind of metric: what another meter calls the same and is of another kind is left
  /// out.
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

/// A name that Prometheus takes: letters, digits and underscores; each other character is an underscore.
[[nodiscard]] std::string metric_name(std::string_view text);

// Has one runtime tell what it counts, for as long as it is listed.

struct AppMetricsSettings {
  CounterSelection counters;
  std::string names;  ///< The same, as selection_named() takes them.
  CounterLimits limits;
};

class MetricSession {
 public:
  /// Begins at once, and again after a while where that fails or ends. Gives way to callers who read meters
  /// in another way. All must outlive it.
  MetricSession(transport::Loop& loop, Registry& registry, MeterClaims& meters, Readers readers,
                const Log& log, const AppMetricsSettings& settings, Runtime runtime);
  MetricSession(const MetricSession&) = delete;
  MetricSession& operator=(const MetricSession&) = delete;

  [[nodiscard]] const Runtime& runtime() const { return runtime_; }
  /// What is said of the runtime has changed.
  void change(Runtime runtime) { runtime_ = std::move(runtime); }
  [[nodiscard]] const MetricTable& table() const { return table_; }

  /// Has the runtime stop it, for good.
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
  transport::Task<DiagnosticPort::Connection> open_port();

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

class AppMetrics {
 public:
  AppMetrics(transport::Loop& loop, Registry& registry, MeterClaims& meters, Readers readers, Log log,
             AppMetricsSettings settings);
  AppMetrics(const AppMetrics&) = delete;
  AppMetrics& operator=(const AppMetrics&) = delete;

  /// Follows the registry until it is cancelled. A session that ends, or can't be had, is tried again later.
  transport::Task<void> run();
  /// Has the runtimes stop, as far as they do so soon. Nothing begins after that.
  transport::Task<void> end();

  /// What the runtimes that count have told, for Prometheus.
  [[nodiscard]] std::string text(const Registry::Filter& filter) const;

 private:
  void begin(const Runtime& runtime);

  transport::Loop& loop_;
  Registry& registry_;
  MeterClaims& meters_;
  Readers readers_;
  Log log_;
  AppMetricsSettings settings_;
  std::map<std::string, std::unique_ptr<MetricSession>> kept_;  ///< By the runtime's id.
  bool ended_ = false;
};

}  // namespace farport::router
