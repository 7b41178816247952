// Keeps one session with each runtime, so that its counters are there whenever Prometheus asks.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "router/agent/app_metrics/metric_series.hpp"
#include "router/agent/runtimes/meter_claims.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/readers/reader_process.hpp"
#include "router/wanted/counters.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

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
