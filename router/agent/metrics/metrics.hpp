// Metrics: what the agent counts, and the text in which Prometheus reads it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "router/stream/relay.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// A counter for each value of a label. Values must come from a small set, never from a peer.
class LabelledCounter {
 public:
  /// The `values` exist from the start, at 0, so that Prometheus sees a rate when one first happens.
  explicit LabelledCounter(const std::vector<std::string>& values = {}) {
    for (const std::string& value : values) counts_[value] = 0;
  }
  void add(std::string_view value);
  [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& counts() const { return counts_; }

 private:
  std::map<std::string, std::uint64_t, std::less<>> counts_;
};

/// The bytes that diagnostic connections have carried, including those that are still open.
class Traffic {
 public:
  /// Counts the bytes of one relay. Must not outlive the Traffic.
  class Relay {
   public:
    explicit Relay(Traffic& traffic) : traffic_(traffic) { traffic_.relays_.insert(&bytes); }
    Relay(const Relay&) = delete;
    Relay& operator=(const Relay&) = delete;
    ~Relay();

    RelayCounts bytes{};

   private:
    Traffic& traffic_;
  };

  [[nodiscard]] RelayCounts total() const;

 private:
  RelayCounts ended_{};
  std::set<const RelayCounts*> relays_;
};

/// The agent's counters and histograms since its start.
struct Metrics {
  Metrics();

  std::uint64_t sessions = 0;  ///< All since the start.
  std::uint64_t requests = 0;
  std::uint64_t accept_pauses = 0;    ///< Accepting paused for lack of descriptors or memory.
  LabelledCounter refused;            ///< By the limit's name in the configuration, or "no_role".
  LabelledCounter handshakes_failed;  ///< By reason.
  LabelledCounter commands_allowed;   ///< By the protocol's name.
  LabelledCounter commands_refused;   ///< By the protocol's name, or "unknown".
  LabelledCounter dumps;              ///< By outcome.
  LabelledCounter profiles;           ///< By outcome.
  Traffic traffic;
  transport::DurationHistogram first_bytes;  ///< From an admitted command to the runtime's first bytes.
  transport::DurationHistogram session_times;
};

// The text exposition format of Prometheus, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/).

inline constexpr const char* kMetricsContentType = "text/plain; version=0.0.4; charset=utf-8";
/// The types of metric families.
inline constexpr const char* kCounter = "counter";
inline constexpr const char* kGauge = "gauge";
inline constexpr const char* kSummary = "summary";

/// Writes metrics in that format, one family after the other.
class MetricsText {
 public:
  /// Begins a family. `type` is one of the constants above. The name of a counter ends in _total.
  MetricsText& family(std::string_view name, std::string_view type, std::string_view help);
  /// Adds a sample to the family. `labels` are made by label() and separated by commas; they may be empty.
  MetricsText& sample(std::uint64_t value, std::string_view labels = {});
  /// `suffix` is appended to the family's name, such as "_sum" of a summary.
  MetricsText& sample(double value, std::string_view labels = {}, std::string_view suffix = {});
  /// Writes a family of one sample without labels.
  template <typename Number>
  MetricsText& single(std::string_view name, std::string_view type, std::string_view help, Number value) {
    using Sample = std::conditional_t<std::is_integral_v<Number>, std::uint64_t, double>;
    return family(name, type, help).sample(static_cast<Sample>(value));
  }
  /// Adds a sample for each value of the label `label_name`.
  MetricsText& samples(std::string_view label_name, const LabelledCounter& counter,
                       std::string_view more_labels = {});
  /// Writes a family of its own: a histogram in seconds. The name ends in _seconds.
  MetricsText& histogram(std::string_view name, std::string_view help,
                         const transport::DurationHistogram& durations);
  [[nodiscard]] std::string take() { return std::move(text_); }

  /// Returns name="value", with the value escaped.
  [[nodiscard]] static std::string label(std::string_view name, std::string_view value);

 private:
  void line(const std::string& value, std::string_view labels, std::string_view suffix = {});

  std::string name_;
  std::string text_;
};

}  // namespace farport::router
