#include "router/recordings/incidents.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fnmatch.h>

#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "events/providers.hpp"
#include "router/recordings/recordings.hpp"

namespace farport::router {
namespace {

using Of = IncidentPattern::Of;

/// How much of what a runtime writes is compared with globs, which may take long, and shown.
constexpr std::size_t kComparedName = 256;
constexpr std::size_t kShownIncident = 300;
/// These two write each request's scope, whatever the level.
constexpr std::string_view kNoisy = "Microsoft.AspNetCore";
constexpr const char* kQuiet =
    ";Microsoft.AspNetCore.Hosting.Diagnostics:6;Microsoft.AspNetCore.Server.Kestrel:6";
constexpr std::uint32_t kIncidentsBufferMb = 16;

bool fits_one(const std::vector<std::string>& globs, std::string_view name) {
  const std::string cut(name.substr(0, kComparedName));
  return globs.empty() || std::ranges::any_of(globs, [&cut](const std::string& glob) {
           return ::fnmatch(glob.c_str(), cut.c_str(), 0) == 0;
         });
}

bool has(const std::string& message, const std::string& text) {
  return text.empty() || message.find(text) != std::string::npos;
}

/// "Orders.*:Error;*:Critical"
std::string filter_for(const std::vector<IncidentPattern>& patterns) {
  std::string specs;
  bool wants_noisy = false;
  for (const IncidentPattern& pattern : patterns) {
    if (pattern.of != Of::logs) continue;
    const std::vector<std::string> all{"*"};
    for (const std::string& name : pattern.names.empty() ? all : pattern.names) {
      specs += fmt::format("{}{}:{}", specs.empty() ? "" : ";", name, to_string(pattern.level));
      wants_noisy = wants_noisy || name.starts_with(kNoisy);
    }
  }
  if (!wants_noisy) specs += kQuiet;
  return "FilterSpecs=\"" + specs + "\"";
}

bool has_some(const std::vector<IncidentPattern>& patterns, Of of) {
  return std::ranges::find(patterns, of, &IncidentPattern::of) != patterns.end();
}

}  // namespace

bool IncidentPattern::fits(const events::LogEntry& entry) const {
  return of == Of::logs && entry.level >= level && fits_one(names, entry.category) &&
         has(entry.message, text);
}

bool IncidentPattern::fits(const events::ThrownException& thrown) const {
  return of == Of::exceptions && fits_one(names, thrown.type) && has(thrown.message, text);
}

std::string to_json(const std::vector<IncidentPattern>& patterns) {
  nlohmann::json all = nlohmann::json::array();
  for (const IncidentPattern& each : patterns) {
    all.push_back({{"exceptions", each.of == Of::exceptions},
                   {"names", each.names},
                   {"level", static_cast<unsigned>(each.level)},
                   {"text", each.text}});
  }
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::vector<IncidentPattern>> patterns_from_json(std::string_view text) {
  try {
    std::vector<IncidentPattern> patterns;
    for (const nlohmann::json& each : nlohmann::json::parse(text)) {
      patterns.push_back({each.at("exceptions").get<bool>() ? Of::exceptions : Of::logs,
                          each.at("names").get<std::vector<std::string>>(),
                          static_cast<events::LogLevel>(each.at("level").get<unsigned>()),
                          each.at("text").get<std::string>()});
    }
    return patterns;
  } catch (const std::exception& error) {
    return fail("read", "patterns", error.what());
  }
}

ipc::CollectTracing wanted_incidents(const std::vector<IncidentPattern>& patterns, std::string_view version) {
  ipc::CollectTracing wanted;
  if (has_some(patterns, Of::exceptions)) wanted = wanted_exceptions();
  wanted.buffer_size_mb = kIncidentsBufferMb;
  wanted.rundown = false;
  if (has_some(patterns, Of::logs)) {
    ipc::Provider logs;
    logs.name = events::kLoggingProvider;
    logs.keywords = kFormattedMessages;
    logs.level = events::kVerboseLevel;
    logs.filter = filter_for(patterns);
    wanted.providers.push_back(std::move(logs));
  }
  leave_out_stacks(wanted, version);
  return wanted;
}

std::string to_json(const Incident& incident) {
  return nlohmann::json{{"pattern", incident.pattern}, {"count", incident.count}, {"text", incident.text}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Incident> incident_from_json(std::string_view text) {
  try {
    const auto object = nlohmann::json::parse(text);
    return Incident{object.at("pattern").get<std::size_t>(), object.at("count").get<std::uint64_t>(),
                    std::string(shortened(object.at("text").get<std::string>(), kShownIncident))};
  } catch (const std::exception& error) {
    return fail("read", "what was seen", error.what());
  }
}

IncidentReader::IncidentReader(std::vector<IncidentPattern> patterns)
    : patterns_(std::move(patterns)), found_(patterns_.size()) {
  for (std::size_t at = 0; at < found_.size(); ++at) found_[at].pattern = at;
}

template <typename Seen>
void IncidentReader::note(const Seen& seen, std::string_view text) {
  for (std::size_t at = 0; at < patterns_.size(); ++at) {
    if (!patterns_[at].fits(seen)) continue;
    ++found_[at].count;
    found_[at].text = shortened(text, kShownIncident);
  }
}

void IncidentReader::on_event(const nettrace::Event& event) {
  if (events::is_exception(event)) {
    const auto thrown = events::read_exception(trace_, event);
    if (thrown) note(*thrown, fmt::format("{}: {}", thrown->type, thrown->message));
    return;
  }
  const auto entry = events::read_log_entry(trace_, event);
  if (entry) note(*entry, fmt::format("{} {}: {}", to_string(entry->level), entry->category, entry->message));
}

std::vector<Incident> IncidentReader::take() {
  std::vector<Incident> taken;
  for (Incident& each : found_) {
    if (each.count == 0) continue;
    taken.push_back(each);
    each.count = 0;
  }
  return taken;
}

}  // namespace farport::router
