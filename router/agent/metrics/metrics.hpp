// Metrics: what the agent counts as it goes, and the text that Prometheus reads.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "router/stream/relay.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// A counter for each value of a label. Values must come from a small set, never from a peer.
class LabelledCounter {
 public:
  /// Those in `values` are there from the start, so that their rate can be computed when they first happen.
  explicit LabelledCounter(const std::vector<std::string>& values = {}) {
    for (const std::string& value : values) counts_[value] = 0;
  }
  void add(std::string_view value);
  [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& counts() const { return counts_; }

 private:
  std::map<std::string, std::uint64_t, std::less<>> counts_;
};

/// The bytes that diagnostic connections have carried, those under way included.
class Traffic {
 public:
  /// Counts what a relay carries; must not outlive the Traffic.
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

struct Metrics {
  Metrics();

  std::uint64_t sessions = 0;  ///< All that there have been.
  std::uint64_t requests = 0;
  std::uint64_t accept_pauses = 0;    ///< Shortages of descriptors or memory.
  LabelledCounter refused;            ///< By the limit's name in the configuration, or "no_role".
  LabelledCounter handshakes_failed;  ///< By reason.
  LabelledCounter commands_allowed;   ///< By the protocol's name.
  LabelledCounter commands_refused;   ///< The same; "unknown" where it has none.
  LabelledCounter dumps;              ///< By outcome.
  LabelledCounter profiles;           ///< By outcome.
  Traffic traffic;
  transport::DurationHistogram first_bytes;  ///< From an admitted command to the runtime's first bytes.
  transport::DurationHistogram session_times;
};

// Metrics as Prometheus reads them: the text exposition format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/).

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
