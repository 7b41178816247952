#include "events/vitals.hpp"

#include <algorithm>

namespace farport::events {
namespace {

constexpr double kPercent = 100;
constexpr double kMegabyte = 1'000'000;
constexpr const char* kRequests = "http.server.request.duration";
constexpr const char* kHeapSize = "dotnet.gc.last_collection.heap.size";
constexpr std::string_view kGenerationTag = "gc.heap.generation=";

std::optional<double> scaled(std::optional<double> value, double by) {
  if (value) *value *= by;
  return value;
}

/// The first that is there.
std::optional<double> either(std::optional<double> first, std::optional<double> second) {
  return first ? first : second;
}

}  // namespace

void VitalsReader::take(const Measurement& measurement) {
  std::pair<std::string, std::string> key{measurement.name, measurement.tags};
  const auto known = last_.find(key);
  if (known != last_.end()) {
    known->second = measurement;
  } else if (last_.size() < kMostVitalMeasurements) {
    last_.emplace(std::move(key), measurement);
  }
}

std::optional<double> VitalsReader::sum(const char* name, const char* tag) const {
  std::optional<double> all;
  for (auto each = last_.lower_bound({name, ""}); each != last_.end() && each->first.first == name; ++each) {
    if (each->first.second.find(tag) == std::string::npos) continue;
    const Measurement& measurement = each->second;
    // The thread pool's sizes are written as sums that grow: what they stand at is meant.
    const bool is_size = std::string_view(name).starts_with("dotnet.thread_pool.");
    all = all.value_or(0) + (is_size ? measurement.total.value_or(measurement.value) : measurement.value);
  }
  return all;
}

std::optional<double> VitalsReader::rate(const char* name) const {
  return scaled(sum(name), 1 / interval_);
}

Vitals VitalsReader::vitals() const {
  Vitals vitals;
  add_meters(vitals);
  add_counters(vitals);
  return vitals;
}

void VitalsReader::add_meters(Vitals& vitals) const {
  vitals.cpu = scaled(rate("dotnet.process.cpu.time"), kPercent);
  vitals.working_set = sum("dotnet.process.memory.working_set");
  vitals.heap = sum(kHeapSize);
  vitals.allocated = rate("dotnet.gc.heap.total_allocated");
  vitals.gc_pause = scaled(rate("dotnet.gc.pause.time"), kPercent);
  vitals.exceptions = rate("dotnet.exceptions");
  vitals.threads = sum("dotnet.thread_pool.thread.count");
  vitals.queued = sum("dotnet.thread_pool.queue.length");
  vitals.requests = rate(kRequests);
  for (const auto& [key, measurement] : last_) {
    const auto& [name, tags] = key;
    if (name == kHeapSize && tags.starts_with(kGenerationTag))
      vitals.generations[tags.substr(kGenerationTag.size())] = measurement.value;
    if (name != kRequests || measurement.quantiles.empty()) continue;
    // Routes can't be put together: the slowest one's.
    vitals.slow_request = std::max(vitals.slow_request.value_or(0), measurement.quantiles.back().second);
  }
}

void VitalsReader::add_counters(Vitals& vitals) const {
  if (knows_processors()) vitals.cpu = either(vitals.cpu, scaled(sum("cpu-usage"), processors_));
  vitals.working_set = either(vitals.working_set, scaled(sum("working-set"), kMegabyte));
  vitals.heap = either(vitals.heap, scaled(sum("gc-heap-size"), kMegabyte));
  vitals.allocated = either(vitals.allocated, rate("alloc-rate"));
  vitals.gc_pause = either(vitals.gc_pause, sum("time-in-gc"));
  vitals.exceptions = either(vitals.exceptions, rate("exception-count"));
  vitals.threads = either(vitals.threads, sum("threadpool-thread-count"));
  vitals.queued = either(vitals.queued, sum("threadpool-queue-length"));
  vitals.requests = either(vitals.requests, rate("requests-per-second"));
  if (!vitals.generations.empty()) return;
  for (const auto& [counter, generation] :
       {std::pair{"gen-0-size", "gen0"}, std::pair{"gen-1-size", "gen1"}, std::pair{"gen-2-size", "gen2"},
        std::pair{"loh-size", "loh"}, std::pair{"poh-size", "poh"}}) {
    if (const auto size = sum(counter)) vitals.generations[generation] = *size;
  }
}

}  // namespace farport::events
