// Keeps one session with each runtime, so that its counters are there whenever Prometheus asks.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "router/agent/app_metrics/metric_session.hpp"

namespace farport::router {

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
