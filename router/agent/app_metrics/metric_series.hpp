// The last values of what one application counts.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "events/measurements.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

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

}  // namespace farport::router
