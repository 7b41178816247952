// Which counters a person wants, in the words of dotnet-counters.
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

/// How often, and how much at most: what a runtime's meters are asked for.
struct CounterLimits {
  std::chrono::milliseconds interval{1000};
  std::uint32_t most_series = 1000;
  std::uint32_t most_histograms = 20;
};

/// The name of all sessions with a runtime's meters, which serve one configuration: those of this name share
/// it (MetricsEventSource, from .NET 8 on).
inline constexpr std::string_view kMeterSession = "SHARED";

/// How a session reads a runtime's meters.
struct MeterReading {
  std::string agreement;  ///< A runtime serves only sessions at once in which this is the same.
  std::chrono::duration<double> interval{};  ///< From one collection to the next.
};

/// Nothing where the session reads none.
[[nodiscard]] std::optional<MeterReading> meter_reading(const ipc::CollectTracing& session);

/// What sessions with these limits agree on.
[[nodiscard]] std::string meter_agreement(const CounterLimits& limits);

class CounterSelection {
 public:
  /// "System.Runtime,Orders[orders-priced,queue]": meters and EventSources by their names, each with all its
  /// instruments or with those in brackets; "EventCounters\Orders" is the EventSource alone. None: those that
  /// every application has. Errors: a name that is none.
  [[nodiscard]] static Result<CounterSelection> parse(const std::vector<std::string>& texts);

  /// What a runtime of that version ("10.0.1") is to record.
  [[nodiscard]] ipc::CollectTracing wanted(std::string_view version, const CounterLimits& limits) const;

  /// Whether it is to be shown: other tools' counters come, too. An EventSource's is not once a meter of the
  /// same name has said something: they count the same.
  [[nodiscard]] bool takes(const events::Measurement& measurement);

 private:
  struct Source {
    std::string name;
    bool meter = true;
    std::set<std::string, std::less<>> instruments;  ///< Empty: all.
  };

  [[nodiscard]] static Result<Source> parse_source(std::string_view text);

  std::vector<Source> sources_;
  std::set<std::string, std::less<>> meters_seen_;
};

}  // namespace farport::router
