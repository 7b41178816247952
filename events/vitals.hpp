// How a runtime is, in a few numbers that all runtimes have.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "events/measurements.hpp"

namespace farport::events {

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
