#include "router/recordings/counters.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.hpp"
#include "events/providers.hpp"
#include "router/recordings/recordings.hpp"

namespace farport::router {
namespace {

constexpr std::uint32_t kCounterBufferMb = 64;
constexpr std::uint64_t kTimeSeriesValues = 0x2;
constexpr std::string_view kEventCounters = "EventCounters\\";
/// From this version on, System.Runtime is a meter, and its EventSource is not needed.
constexpr int kFirstWithMeters = 9;
constexpr std::string_view kRuntimeMeter = "System.Runtime";

/// Splits at commas that are not in brackets.
std::vector<std::string> split(std::string_view text) {
  return split_list(text, [depth = 0](char c) mutable {
    if (c == '[') ++depth;
    if (c == ']') --depth;
    return depth != 0;
  });
}

bool is_name(std::string_view text) {
  return !text.empty() && text.find_first_of("[];,\"=\\") == std::string_view::npos;
}

/// The filter for the provider of meters.
std::string meter_filter(std::string_view meters, const CounterLimits& limits) {
  return fmt::format(
      "SessionId={};Metrics={};RefreshInterval={};MaxTimeSeries={};MaxHistograms={};ClientId={}",
      kMeterSession, meters, std::chrono::duration<double>(limits.interval).count(), limits.most_series,
      limits.most_histograms, random_token());
}

constexpr std::string_view kRefreshInterval = "RefreshInterval=";

/// The entry of such a filter with this key, such as "RefreshInterval=5"; empty if there is none.
std::string_view entry_of(std::string_view filter, std::string_view key) {
  std::size_t at = filter.find(key);
  while (at != std::string_view::npos && at > 0 && filter[at - 1] != ';') at = filter.find(key, at + 1);
  return at == std::string_view::npos ? std::string_view() : filter.substr(at, filter.find(';', at) - at);
}

/// The entries of such a filter on which concurrent sessions must agree.
std::string agreement_in(std::string_view filter) {
  std::string all;
  for (const std::string_view key :
       {std::string_view("SessionId="), kRefreshInterval, std::string_view("MaxTimeSeries="),
        std::string_view("MaxHistograms=")}) {
    const std::string_view entry = entry_of(filter, key);
    if (!entry.empty()) all += (all.empty() ? "" : ";") + std::string(entry);
  }
  return all;
}

/// The interval as MetricsEventSource reads it: a second if it is missing, and a tenth at least.
std::chrono::duration<double> interval_in(std::string_view filter) {
  constexpr double kUsual = 1;
  constexpr double kMin = 0.1;
  constexpr double kMax = 1e6;  // More than a week.
  const std::string_view entry = entry_of(filter, kRefreshInterval);
  const std::string_view text = entry.substr(std::min(entry.size(), kRefreshInterval.size()));
  double seconds = number_in<double>(text).value_or(kUsual);
  if (std::isnan(seconds)) seconds = kUsual;
  return std::chrono::duration<double>(std::clamp(seconds, kMin, kMax));
}

}  // namespace

std::optional<MeterReading> meter_reading(const ipc::CollectTracing& session) {
  const auto meters =
      std::find_if(session.providers.begin(), session.providers.end(),
                   [](const ipc::Provider& each) { return each.name == events::kMetricsProvider; });
  if (meters == session.providers.end()) return std::nullopt;
  const std::string filter = meters->filter.value_or("");
  return MeterReading{agreement_in(filter), interval_in(filter)};
}

std::string meter_agreement(const CounterLimits& limits) {
  return agreement_in(meter_filter({}, limits));
}

Result<CounterSelection::Source> CounterSelection::parse_source(std::string_view text) {
  const auto wrong = [&] {
    return fail("show the counters", text, "it is no name of a meter or an EventSource",
                "write one such as System.Runtime or Orders[orders-priced,queue]");
  };
  Source source;
  if (text.starts_with(kEventCounters)) {
    source.meter = false;
    text.remove_prefix(kEventCounters.size());
  }
  const std::size_t bracket = text.find('[');
  source.name = std::string(text.substr(0, bracket));
  if (!is_name(source.name)) return wrong();
  if (bracket == std::string_view::npos) return source;
  if (!text.ends_with(']')) return wrong();
  const std::string_view inside = text.substr(bracket + 1, text.size() - bracket - 2);
  for (const std::string& instrument : split(inside)) {
    if (!is_name(instrument)) return wrong();
    source.instruments.insert(instrument);
  }
  return source;
}

Result<CounterSelection> CounterSelection::parse(const std::vector<std::string>& texts) {
  CounterSelection made;
  for (const std::string& text : texts) {
    for (const std::string& part : split(text)) {
      ASSIGN_OR_RETURN(auto source, parse_source(part));
      made.sources_.push_back(std::move(source));
    }
  }
  if (made.sources_.empty())
    made.sources_ = {{std::string(kRuntimeMeter), true, {}}, {"Microsoft.AspNetCore.Hosting", true, {}}};
  return made;
}

ipc::CollectTracing CounterSelection::wanted(std::string_view version, const CounterLimits& limits) const {
  ipc::CollectTracing wanted;
  wanted.buffer_size_mb = kCounterBufferMb;
  wanted.rundown = false;
  std::string meters;
  const auto add_meter = [&meters](const std::string& name) { meters += (meters.empty() ? "" : ",") + name; };
  for (const Source& source : sources_) {
    if (source.meter && source.instruments.empty()) add_meter(source.name);
    if (source.meter) {
      for (const std::string& instrument : source.instruments) add_meter(source.name + "\\" + instrument);
    }
    const bool is_meter_only =
        source.meter && source.name == kRuntimeMeter && major_of(version) >= kFirstWithMeters;
    if (!is_meter_only) wanted.providers.push_back(event_counters(source.name, limits.interval));
  }
  if (meters.empty()) return wanted;
  ipc::Provider provider;
  provider.name = events::kMetricsProvider;
  provider.keywords = kTimeSeriesValues;
  provider.level = events::kInformationalLevel;
  provider.filter = meter_filter(meters, limits);
  wanted.providers.push_back(std::move(provider));
  return wanted;
}

bool CounterSelection::takes(const events::Measurement& measurement) {
  if (measurement.is_meter) meters_seen_.insert(measurement.provider);
  return std::any_of(sources_.begin(), sources_.end(), [&](const Source& source) {
    if (source.name != measurement.provider) return false;
    if (!source.instruments.empty() && !source.instruments.contains(measurement.name)) return false;
    if (measurement.is_meter) return source.meter;
    return !source.meter || !meters_seen_.contains(source.name);
  });
}

}  // namespace farport::router
