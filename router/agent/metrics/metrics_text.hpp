// Metrics as Prometheus reads them: the text exposition format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "router/agent/metrics/metrics.hpp"

namespace farport::router {

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";
/// Types of families.
inline constexpr const char* kCounter = "counter";
inline constexpr const char* kGauge = "gauge";
inline constexpr const char* kSummary = "summary";

/// Writes metrics, a family at a time.
class MetricsText {
 public:
  /// Begins a family. `type`: see above. A counter's name ends in _total.
  MetricsText& family(std::string_view name, std::string_view type, std::string_view help);
  /// A sample of the family under way. `labels`: as label() makes them, separated by commas; or none.
  MetricsText& sample(std::uint64_t value, std::string_view labels = {});
  /// `suffix`: of the family's name, such as "_sum" of a summary.
  MetricsText& sample(double value, std::string_view labels = {}, std::string_view suffix = {});
  /// One for each value of the label.
  MetricsText& samples(std::string_view label_name, const LabelledCounter& counter,
                       std::string_view more_labels = {});
  /// A family of its own: how often something took how long, in seconds. The name ends in _seconds.
  MetricsText& histogram(std::string_view name, std::string_view help,
                         const transport::DurationHistogram& durations);
  [[nodiscard]] std::string take() { return std::move(text_); }

  /// name="value", with what must be escaped.
  [[nodiscard]] static std::string label(std::string_view name, std::string_view value);

 private:
  void line(const std::string& value, std::string_view labels, std::string_view suffix = {});

  std::string name_;
  std::string text_;
};

}  // namespace farport::router
