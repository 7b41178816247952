// What several applications count, as Prometheus has it (text format 0.0.4).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "router/agent/app_metrics/metric_series.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

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
