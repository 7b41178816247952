#include "router/agent/metrics/metrics_text.hpp"

#include <fmt/core.h>

namespace farport::router {
namespace {

double in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

MetricsText& MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  return *this;
}

void MetricsText::line(const std::string& value, std::string_view labels, std::string_view suffix) {
  text_ += name_;
  text_ += suffix;
  if (!labels.empty()) text_ += "{" + std::string(labels) + "}";
  text_ += " " + value + "\n";
}

MetricsText& MetricsText::sample(std::uint64_t value, std::string_view labels) {
  line(std::to_string(value), labels);
  return *this;
}

MetricsText& MetricsText::sample(double value, std::string_view labels, std::string_view suffix) {
  line(fmt::format("{}", value), labels, suffix);
  return *this;
}

MetricsText& MetricsText::samples(std::string_view label_name, const LabelledCounter& counter,
                                  std::string_view more_labels) {
  for (const auto& [value, count] : counter.counts()) {
    std::string labels = label(label_name, value);
    if (!more_labels.empty()) labels += "," + std::string(more_labels);
    sample(count, labels);
  }
  return *this;
}

MetricsText& MetricsText::histogram(std::string_view name, std::string_view help,
                                    const transport::DurationHistogram& durations) {
  family(name, "histogram", help);
  // Each bucket has all that were shorter, too.
  std::uint64_t so_far = 0;
  const auto bounds = durations.bounds();
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    so_far += durations.counts()[i];
    line(std::to_string(so_far), label("le", fmt::format("{}", in_seconds(bounds[i]))), "_bucket");
  }
  so_far += durations.counts().back();
  line(std::to_string(so_far), label("le", "+Inf"), "_bucket");
  line(fmt::format("{}", in_seconds(durations.sum())), {}, "_sum");
  line(std::to_string(so_far), {}, "_count");
  return *this;
}

std::string MetricsText::label(std::string_view name, std::string_view value) {
  std::string text = std::string(name) + "=\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text + "\"";
}

}  // namespace farport::router
