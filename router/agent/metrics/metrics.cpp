#include "router/agent/metrics/metrics.hpp"

#include <array>

#include <fmt/core.h>

#include "auth/limit_settings.hpp"

namespace farport::router {
namespace {

using namespace std::chrono_literals;

/// A runtime mostly answers within milliseconds. A busy one, or one that writes a dump, takes longer.
constexpr std::array<std::chrono::milliseconds, 10> kFirstByteBounds{2ms,   5ms,   10ms, 20ms, 50ms,
                                                                     100ms, 200ms, 1s,   5s,   30s};
/// From the session of a single command to that of a mirror which is never switched off.
constexpr std::array<std::chrono::milliseconds, 8> kSessionBounds{1s, 10s, 1min, 5min, 15min, 1h, 4h, 24h};

/// The reasons for a refusal: all limits but buffered_bytes, whose excess the BufferBudget counts.
std::vector<std::string> refusals() {
  std::vector<std::string> reasons = {"no_role"};
  for (const auth::Limit& limit : auth::kLimits) {
    if (&limit != &auth::limit_of(&auth::LimitSettings::buffered_bytes)) reasons.emplace_back(limit.name());
  }
  return reasons;
}

std::vector<std::string> handshake_failures() {
  return {"timeout", "closed", "no_certificate", "bad_certificate", "protocol", "probe"};
}

}  // namespace

void LabelledCounter::add(std::string_view value) {
  const auto known = counts_.find(value);
  if (known != counts_.end()) {
    ++known->second;
  } else {
    counts_.emplace(value, 1);
  }
}

Traffic::Relay::~Relay() {
  traffic_.relays_.erase(&bytes);
  traffic_.ended_.to_runtime += bytes.to_runtime;
  traffic_.ended_.to_tool += bytes.to_tool;
}

RelayCounts Traffic::total() const {
  RelayCounts all = ended_;
  for (const RelayCounts* relay : relays_) {
    all.to_runtime += relay->to_runtime;
    all.to_tool += relay->to_tool;
  }
  return all;
}

Metrics::Metrics()
    : refused(refusals()),
      handshakes_failed(handshake_failures()),
      dumps({"completed", "failed"}),
      profiles({"completed", "failed"}),
      first_bytes(kFirstByteBounds),
      session_times(kSessionBounds) {}

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
  // Buckets are cumulative: each contains all shorter durations too.
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
