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
/// Of requests without an answer; further ones count once they have one.
constexpr std::size_t kMostOpen = 1000;
constexpr std::chrono::hours kLongestOpen{1};
/// Of a span's id, which has 16 digits.
constexpr std::size_t kMostSpan = 64;
/// After so many requests in so long of which nothing else is told, nothing will be.
constexpr unsigned kSilent = 10;
constexpr std::chrono::seconds kSilentFor{2};

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

/// The part of a type's or a category's name after its last dot.
std::string_view last_part(std::string_view name) {
  return name.substr(name.find_last_of(".+") + 1);
}

/// Whether the type may be meant by one of these names, which lack its namespace or have another case.
bool is_near(const std::vector<std::string>& names, std::string_view type) {
  const std::string_view simple = last_part(type.substr(0, kComparedName));
  return std::ranges::any_of(
      names, [simple](const std::string& name) { return equal_without_case(last_part(name), simple); });
}

/// "GET /orders/7"
std::string shown(const events::RequestEvent& request) {
  return fmt::format("{} {}", shortened(request.method, kComparedName),
                     shortened(request.path, kComparedName));
}

bool has_some(const std::vector<IncidentPattern>& patterns, Of of) {
  return std::ranges::find(patterns, of, &IncidentPattern::of) != patterns.end();
}

}  // namespace

bool RequestPaths::have(std::string_view path) const {
  const auto fits = [path](const PathGlob& glob) { return glob.matches(path); };
  return (wanted.empty() || std::ranges::any_of(wanted, fits)) && !std::ranges::any_of(except, fits);
}

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
    all.push_back({{"of", static_cast<unsigned>(each.of)},
                   {"names", each.names},
                   {"level", static_cast<unsigned>(each.level)},
                   {"text", each.text},
                   {"except", each.except},
                   {"statuses", each.statuses},
                   {"slower_than", each.slower_than ? each.slower_than->count() : -1}});
  }
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::vector<IncidentPattern>> patterns_from_json(std::string_view text) {
  try {
    std::vector<IncidentPattern> patterns;
    for (const nlohmann::json& each : nlohmann::json::parse(text)) {
      IncidentPattern& pattern = patterns.emplace_back();
      pattern.of = static_cast<Of>(each.at("of").get<unsigned>());
      pattern.names = each.at("names").get<std::vector<std::string>>();
      pattern.level = static_cast<events::LogLevel>(each.at("level").get<unsigned>());
      pattern.text = each.at("text").get<std::string>();
      pattern.except = each.at("except").get<std::vector<std::string>>();
      pattern.statuses = each.at("statuses").get<std::vector<std::pair<int, int>>>();
      const auto slower_than = each.at("slower_than").get<std::int64_t>();
      if (slower_than >= 0) pattern.slower_than = std::chrono::milliseconds(slower_than);
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
  if (has_some(patterns, Of::requests)) {
    ipc::Provider requests;
    requests.name = events::kRequestProvider;
    requests.keywords = events::kRequestKeywords;
    requests.level = events::kVerboseLevel;
    requests.filter = events::kRequestFilter;
    wanted.providers.push_back(std::move(requests));
    ipc::Provider hosting;
    hosting.name = events::kHostingProvider;
    hosting.level = events::kInformationalLevel;
    wanted.providers.push_back(std::move(hosting));
  }
  leave_out_stacks(wanted, version);
  return wanted;
}

std::string to_json(const Incident& incident) {
  return nlohmann::json{{"pattern", incident.pattern},
                        {"count", incident.count},
                        {"text", incident.text},
                        {"near", incident.near}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Incident> incident_from_json(std::string_view text) {
  try {
    const auto object = nlohmann::json::parse(text);
    return Incident{object.at("pattern").get<std::size_t>(), object.at("count").get<std::uint64_t>(),
                    std::string(shortened(object.at("text").get<std::string>(), kShownIncident)),
                    std::string(shortened(object.at("near").get<std::string>(), kShownIncident))};
  } catch (const std::exception& error) {
    return fail("read", "what was seen", error.what());
  }
}

IncidentReader::IncidentReader(std::vector<IncidentPattern> patterns)
    : patterns_(std::move(patterns)), found_(patterns_.size()) {
  for (std::size_t at = 0; at < found_.size(); ++at) {
    found_[at].pattern = at;
    RequestPaths& paths = paths_.emplace_back();
    if (patterns_[at].of != Of::requests) continue;
    for (const std::string& each : patterns_[at].names) paths.wanted.emplace_back(each);
    for (const std::string& each : patterns_[at].except) paths.except.emplace_back(each);
  }
}

template <typename Seen>
void IncidentReader::note(const Seen& seen, std::string_view text) {
  for (std::size_t at = 0; at < patterns_.size(); ++at) {
    if (patterns_[at].fits(seen)) note(at, text);
  }
}

void IncidentReader::note(std::size_t pattern, std::string_view text) {
  ++found_[pattern].count;
  found_[pattern].text = shortened(text, kShownIncident);
}

void IncidentReader::note_near(const events::ThrownException& thrown) {
  for (std::size_t at = 0; at < patterns_.size(); ++at) {
    const IncidentPattern& pattern = patterns_[at];
    if (pattern.of != Of::exceptions || near_.contains(at)) continue;
    if (!fits_one(pattern.names, thrown.type) && is_near(pattern.names, thrown.type))
      note_near(at, thrown.type);
  }
}

void IncidentReader::note_near(std::size_t pattern, std::string_view text) {
  // Of those with more conditions it is not known whether the path has fitted.
  const IncidentPattern& of = patterns_[pattern];
  const bool is_by_name = of.statuses.empty() && !of.slower_than;
  if (near_.insert(pattern).second && is_by_name) found_[pattern].near = shortened(text, kShownIncident);
}

void IncidentReader::take_request(const events::RequestEvent& request) {
  has_requests_ = true;
  unheard_ = 0;
  const std::string_view path = std::string_view(request.path).substr(0, kComparedName);
  std::vector<std::size_t> fitting;
  for (std::size_t at = 0; at < patterns_.size(); ++at) {
    if (patterns_[at].of != Of::requests) continue;
    if (paths_[at].have(path)) {
      fitting.push_back(at);
    } else if (!near_.contains(at)) {
      note_near(at, shown(request));
    }
  }
  if (request.ended) {
    note_ended(request, fitting);
  } else {
    note_begun(request.span, shown(request), fitting);
  }
}

void IncidentReader::note_begun(std::string span, std::string text, const std::vector<std::size_t>& fitting) {
  std::vector<std::size_t> may_be_slow;
  for (const std::size_t at : fitting) {
    if (!patterns_[at].statuses.empty()) continue;
    if (patterns_[at].slower_than) may_be_slow.push_back(at);
    if (!patterns_[at].slower_than) note(at, text);
  }
  // Without an id of its own it counts once it has an answer.
  const bool has_id = span.size() <= kMostSpan && span.find_first_not_of('0') != std::string::npos;
  if (may_be_slow.empty() || !has_id || !make_room()) return;
  open_.try_emplace(std::move(span), Open{Clock::now(), std::move(text), std::move(may_be_slow)});
}

void IncidentReader::note_ended(const events::RequestEvent& request,
                                const std::vector<std::size_t>& fitting) {
  const auto open = open_.extract(request.span);
  for (const std::size_t at : fitting) {
    const IncidentPattern& pattern = patterns_[at];
    const bool by_status = std::ranges::any_of(pattern.statuses, [&](const auto& range) {
      return request.status >= range.first && request.status <= range.second;
    });
    const bool slow = pattern.slower_than && request.took > *pattern.slower_than;
    if (!pattern.statuses.empty() ? !by_status || (pattern.slower_than && !slow) : !slow) continue;
    // It may have been counted before it had an answer.
    const bool counts = !pattern.statuses.empty() || open.empty() ||
                        std::ranges::find(open.mapped().patterns, at) != open.mapped().patterns.end();
    const double seconds = std::chrono::duration<double>(request.took).count();
    if (counts) note(at, fmt::format("{}: {} after {:.3g} s", shown(request), request.status, seconds));
  }
}

void IncidentReader::note_unheard() {
  if (unheard_++ == 0) unheard_since_ = Clock::now();
  if (unheard_ >= kSilent && Clock::now() - unheard_since_ >= kSilentFor) silenced_ = true;
}

bool IncidentReader::make_room() {
  if (open_.size() < kMostOpen) return true;
  // Those whose ends were lost. Others must stay: they would count again with their ends.
  const auto oldest = Clock::now() - kLongestOpen;
  std::erase_if(open_, [oldest](const auto& each) { return each.second.since < oldest; });
  return open_.size() < kMostOpen;
}

void IncidentReader::on_event(const nettrace::Event& event) {
  if (const auto request = events::read_request(event)) return take_request(*request);
  if (events::says_request_began(event)) return note_unheard();
  if (events::is_exception(event)) {
    const auto thrown = events::read_exception(trace_, event);
    if (!thrown) return;
    note(*thrown, fmt::format("{}: {}", thrown->type, thrown->message));
    return note_near(*thrown);
  }
  const auto entry = events::read_log_entry(trace_, event);
  if (entry) note(*entry, fmt::format("{} {}: {}", to_string(entry->level), entry->category, entry->message));
}

bool IncidentReader::awaits() const {
  return std::ranges::any_of(open_, [](const auto& each) { return !each.second.patterns.empty(); });
}

std::vector<Incident> IncidentReader::take(Clock::time_point now) {
  for (auto& each : open_) {
    Open& open = each.second;
    std::erase_if(open.patterns, [&](std::size_t at) {
      const std::chrono::duration<double> longest = *patterns_[at].slower_than;
      const bool slow = now - open.since > longest;
      if (slow) note(at, fmt::format("{}: no answer for {:.3g} s", open.text, longest.count()));
      return slow;
    });
  }
  std::vector<Incident> taken;
  const bool tells_first = has_requests_ && !std::exchange(told_, true);
  for (Incident& each : found_) {
    const bool first = tells_first && patterns_[each.pattern].of == Of::requests;
    if (each.count == 0 && !first && each.near.empty()) continue;
    taken.push_back(each);
    each.count = 0;
    each.near.clear();
  }
  return taken;
}

}  // namespace farport::router
