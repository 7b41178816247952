#include "router/agent/app_metrics/app_metrics.hpp"

#include "router/agent/app_metrics/metric_families.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Task;

constexpr transport::Milliseconds kStopLimit = MeterClaims::kMostHold + transport::Milliseconds(1000);
/// Runtimes beyond that are left out: what is kept of each is bounded, and so is all.
constexpr std::size_t kMostRuntimes = 100;

}  // namespace

AppMetrics::AppMetrics(transport::Loop& loop, Registry& registry, MeterClaims& meters, Readers readers,
                       Log log, AppMetricsSettings settings)
    : loop_(loop),
      registry_(registry),
      meters_(meters),
      readers_(std::move(readers)),
      log_(std::move(log)),
      settings_(std::move(settings)) {}

Task<void> AppMetrics::run() {
  const auto watch = registry_.watch();
  for (;;) {
    const std::optional<RuntimeEvent> event = co_await watch->next();
    if (!event) co_return;
    const Runtime& runtime = event->runtime;
    if (event->kind == RuntimeEvent::Kind::listed) continue;
    if (event->kind == RuntimeEvent::Kind::removed) {
      // They may be about to end.
      if (!ended_) kept_.erase(runtime.id);
    } else if (runtime.state == RuntimeState::running && !ended_) {
      begin(runtime);
    }
  }
}

void AppMetrics::begin(const Runtime& runtime) {
  const auto known = kept_.find(runtime.id);
  if (known != kept_.end()) return known->second->change(runtime);
  if (kept_.size() == kMostRuntimes) {
    log_->warn("{} (pid {}) is left out of the applications' metrics: there are {} already", runtime.name,
               runtime.pid, kMostRuntimes);
    return;
  }
  kept_.emplace(runtime.id, std::make_unique<MetricSession>(loop_, registry_, meters_, readers_, log_,
                                                            settings_, runtime));
}

Task<void> AppMetrics::end() {
  ended_ = true;
  transport::TaskSet ending(loop_);
  for (const auto& [id, kept] : kept_) ending.spawn(kept->end());
  co_await with_deadline(loop_, ending.idle(), kStopLimit);
}

std::string AppMetrics::text(const Registry::Filter& filter) const {
  MetricFamilies families;
  const auto now = MetricTable::Clock::now();
  for (const auto& [id, kept] : kept_) {
    const Runtime& runtime = kept->runtime();
    if (!filter(runtime)) continue;
    kept->table().for_each(now, [&](const MetricSeries& series) { families.add(runtime, series); });
  }
  return families.text();
}

}  // namespace farport::router
