// CounterSelection: which counters a person wants, in the syntax of dotnet-counters.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "events/measurements.hpp"
#include "ipc/event_pipe.hpp"

namespace farport::router {

/// How often to collect a runtime's meters, and how many series to keep at most.
struct CounterLimits {
  std::chrono::milliseconds interval{1000};
  std::uint32_t most_series = 1000;
  std::uint32_t most_histograms = 20;
};

/// The id of all sessions that read meters. A runtime serves one configuration at a time; sessions with this
/// id share it (MetricsEventSource, from .NET 8 on).
inline constexpr std::string_view kMeterSession = "SHARED";

/// How a session reads a runtime's meters.
struct MeterReading {
  std::string agreement;  ///< A runtime serves two sessions at once only if this is the same in both.
  std::chrono::duration<double> interval{};  ///< The time between two collections.
};

/// How a session reads meters; nothing if it reads none.
[[nodiscard]] std::optional<MeterReading> meter_reading(const ipc::CollectTracing& session);

/// The agreement of sessions with these limits.
[[nodiscard]] std::string meter_agreement(const CounterLimits& limits);

/// A selection of meters and EventSources, each with all its instruments or some.
class CounterSelection {
 public:
  /// Parses for example "System.Runtime,Orders[orders-priced,queue]": meters and EventSources by name, each
  /// with all its instruments or with those in brackets. "EventCounters\Orders" is only the EventSource. No
  /// text selects the ones that every application has. Errors: a malformed name.
  [[nodiscard]] static Result<CounterSelection> parse(const std::vector<std::string>& texts);

  /// What a runtime of this version ("10.0.1") has to record.
  [[nodiscard]] ipc::CollectTracing wanted(std::string_view version, const CounterLimits& limits) const;

  /// Whether to show a measurement, since counters of other tools come, too. Those of an EventSource are not
  /// shown once a meter of the same name has reported: they count the same.
  [[nodiscard]] bool takes(const events::Measurement& measurement);

 private:
  struct Source {
    std::string name;
    bool meter = true;
    std::set<std::string, std::less<>> instruments;  ///< If empty, all of them.
  };

  [[nodiscard]] static Result<Source> parse_source(std::string_view text);

  std::vector<Source> sources_;
  std::set<std::string, std::less<>> meters_seen_;
};

}  // namespace farport::router
