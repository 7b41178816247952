#include "router/agent/rules/firings.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <map>
#include <ranges>
#include <set>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "base/text.hpp"
#include "router/wire/artifact.hpp"
#include "router/wire/json_members.hpp"
#include "router/wire/runtime_json.hpp"

namespace farport::router {
namespace {

/// Then it is written anew while the agent runs.
constexpr std::size_t kLongJournal = std::size_t{1} << 20;
constexpr std::size_t kLongestHost = 100;
constexpr std::size_t kLongestText = 1000;
constexpr std::array kStates{"under_way", "done", "failed", "broken_off"};

std::int64_t milliseconds_of(Firing::Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

json object_of(const Firing& firing) {
  return {{"number", firing.number},
          {"rule", firing.rule},
          {"subject", firing.subject},
          {"runtime_id", firing.runtime_id},
          {"runtime", firing.runtime},
          {"time", milliseconds_of(firing.time)},
          {"cause", shortened(firing.cause, kLongestText)},
          {"state", to_string(firing.state)},
          {"why", shortened(firing.why, kLongestText)},
          {"artifacts", firing.artifacts},
          {"bytes", firing.bytes},
          {"user", firing.user}};
}

Firing firing_of(const json& object) {
  Firing firing;
  firing.number = number_at<std::uint64_t>(object, "number");
  firing.rule = text_in(object, "rule");
  firing.subject = text_in(object, "subject");
  firing.runtime_id = text_in(object, "runtime_id");
  firing.runtime = text_in(object, "runtime");
  firing.time = Firing::Clock::time_point(std::chrono::milliseconds(number_at<std::int64_t>(object, "time")));
  firing.cause = text_in(object, "cause");
  const auto* const state = std::ranges::find(kStates, text_in(object, "state"));
  if (state == kStates.end()) throw std::invalid_argument("no such state");
  firing.state = static_cast<Firing::State>(state - kStates.begin());
  firing.why = text_in(object, "why");
  firing.artifacts = object.at("artifacts").get<std::vector<std::string>>();
  firing.bytes = number_at<std::uint64_t>(object, "bytes");
  firing.user = number_at<uid_t>(object, "user");
  return firing;
}

/// The journal's name for a host, which may have any letters.
std::string name_for(const std::string& host) {
  std::string name = ".rules-";
  for (const char letter : host.substr(0, kLongestHost)) name += is_artifact_id_letter(letter) ? letter : '_';
  return name;
}

/// Only one agent has it.
Result<UniqueFd> lock_file(const std::string& path) {
  constexpr mode_t kOwn = 0600;
  UniqueFd lock(::open((path + ".lock").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_CREAT, kOwn));
  if (!lock) return fail_errno("open", path + ".lock", errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) return fail_errno("lock", path, errno);
  return fail("use", path, "another agent of this host has rules");
}

}  // namespace

std::string_view to_string(Firing::State state) {
  return kStates.at(static_cast<std::size_t>(state));
}

std::string to_json(const Firing& firing) {
  return router::text_of(object_of(firing));
}

Result<Firing> firing_from_json(std::string_view text) {
  try {
    return firing_of(parse_bounded(text, kEventValues));
  } catch (const std::exception& error) {
    return fail("read", "a line of the rules' journal", reason_of(error));
  }
}

Result<std::unique_ptr<FiringJournal>> FiringJournal::open(const std::string& directory,
                                                           const std::string& host,
                                                           Firing::Clock::time_point oldest,
                                                           std::vector<Firing>& firings) {
  const std::string path = directory + "/" + name_for(host);
  ASSIGN_OR_RETURN(UniqueFd lock, lock_file(path));
  // The last line of each number counts.
  std::map<std::uint64_t, Firing> all;
  const auto take = [&all](std::string_view line) -> Result<void> {
    if (auto firing = firing_from_json(line)) all[firing->number] = std::move(*firing);
    return {};
  };
  ASSIGN_OR_RETURN(auto lines, Journal::open(path, take));
  firings.clear();
  for (auto& [number, firing] : all) {
    if (firing.time < oldest) continue;
    if (firing.state == Firing::State::under_way) {
      firing.state = Firing::State::broken_off;
      firing.why = "the agent ended meanwhile";
    }
    firings.push_back(std::move(firing));
  }
  auto journal = std::unique_ptr<FiringJournal>(new FiringJournal(std::move(lock), std::move(lines)));
  RETURN_IF_ERROR(journal->replace(firings));
  return journal;
}

bool FiringJournal::is_long() const {
  return lines_->size() > kLongJournal;
}

Result<void> FiringJournal::replace(const std::vector<Firing>& firings) {
  std::vector<std::string> lines;
  lines.reserve(firings.size());
  for (const Firing& each : firings) lines.push_back(to_json(each));
  return lines_->replace(lines);
}

Result<void> FiringJournal::append(const Firing& firing) {
  return lines_->append(to_json(firing));
}

Firings::Firings(std::vector<Firing> past) : all_(past.begin(), past.end()) {
  for (const Firing& each : all_) next_ = std::max(next_, each.number + 1);
}

namespace {

/// One of the past in the limits' window. A clock that was set back must not stop a rule for ever.
struct Past {
  Firings::Clock::time_point time;
  std::uint64_t bytes = 0;
};

/// When there is room for one more of the window's, of which the oldest come first; empty if there is.
std::optional<Firings::Clock::time_point> until_room(const std::vector<Past>& within, std::size_t times,
                                                     std::chrono::milliseconds window) {
  if (within.size() < times) return std::nullopt;
  return within[within.size() - times].time + window;
}

/// When so few bytes were taken in the window that more may be; empty if that is now.
std::optional<Firings::Clock::time_point> until_bytes(const std::vector<Past>& within, std::uint64_t most,
                                                      std::chrono::milliseconds window) {
  std::uint64_t later = 0;
  for (const Past& each : std::views::reverse(within)) {
    later += each.bytes;
    if (later >= most) return each.time + window;
  }
  return std::nullopt;
}

std::string times_text(std::size_t times) {
  return times == 1 ? "once" : fmt::format("{} times", times);
}

std::optional<Firings::Limited> beyond_hours(const RuleLimits& limits, Firings::Clock::time_point now) {
  if (!limits.hours) return std::nullopt;
  const std::time_t seconds = Firings::Clock::to_time_t(now);
  std::tm parts{};
  ::localtime_r(&seconds, &parts);
  constexpr int kMinutes = 60;
  const int minute = parts.tm_hour * kMinutes + parts.tm_min;
  const auto [from, to] = *limits.hours;
  const bool inside = from <= to ? minute >= from && minute < to : minute >= from || minute < to;
  if (inside) return std::nullopt;
  constexpr int kDay = 24 * kMinutes;
  const int ahead = (from - minute + kDay) % kDay;
  return Firings::Limited{"it is not the time of day", now + std::chrono::minutes(ahead)};
}

}  // namespace

std::optional<Firings::Limited> Firings::limited(const Rule& rule, const std::string& subject, uid_t user,
                                                 Clock::time_point now) const {
  const RuleLimits& limits = rule.limits;
  std::vector<Past> own;
  std::vector<Past> all;
  std::vector<Past> of_user;
  std::set<uid_t> users{user};
  std::map<uid_t, std::size_t> under_way;
  std::size_t all_under_way = 0;
  for (const Firing& each : all_) {
    if (each.rule != rule.name) continue;
    const bool is_under_way = each.state == Firing::State::under_way;
    if (is_under_way && each.subject == subject) return Limited{"something is being taken", std::nullopt};
    const Past past{std::min(each.time, now), each.bytes};
    if (!is_under_way && past.time + limits.within <= now) continue;
    users.insert(each.user);
    if (is_under_way) ++under_way[each.user];
    if (is_under_way) ++all_under_way;
    all.push_back(past);
    if (each.user == user) of_user.push_back(past);
    if (each.subject == subject) own.push_back(past);
  }
  const auto part_of = [](auto whole, std::size_t among) {
    return std::max<decltype(whole)>(whole / among, 1);
  };
  under_way.try_emplace(user, 0);
  if (all_under_way >= limits.at_once && under_way[user] >= part_of(limits.at_once, under_way.size()))
    return Limited{"something is being taken for another application", std::nullopt};
  for (std::vector<Past>* each : {&own, &all, &of_user}) std::ranges::stable_sort(*each, {}, &Past::time);
  if (const auto until = until_room(own, limits.times, limits.within))
    return Limited{fmt::format("it has fired {}, which is its limit", times_text(own.size())), until};
  if (until_room(all, limits.total, limits.within)) {
    const std::size_t part = part_of(limits.total, users.size());
    if (const auto until = until_room(of_user, part, limits.within))
      return Limited{
          fmt::format("it has fired {} for all applications, which is its limit", times_text(all.size())),
          until};
  }
  if (limits.bytes && until_bytes(all, *limits.bytes, limits.within)) {
    const std::uint64_t part = part_of(*limits.bytes, users.size());
    if (const auto until = until_bytes(of_user, part, limits.within))
      return Limited{fmt::format("it has taken {} bytes, which is its limit", *limits.bytes), until};
  }
  return beyond_hours(limits, now);
}

bool Firings::has_fired(const Rule& rule, const std::string& runtime_id) const {
  return std::ranges::any_of(
      all_, [&](const Firing& each) { return each.rule == rule.name && each.runtime_id == runtime_id; });
}

Firing& Firings::begin(Firing firing) {
  firing.number = next_++;
  return all_.emplace_back(std::move(firing));
}

void Firings::take_back(std::uint64_t number) {
  std::erase_if(all_, [number](const Firing& each) { return each.number == number; });
}

Firing* Firings::find(std::uint64_t number) {
  const auto known = std::ranges::find(all_, number, &Firing::number);
  return known == all_.end() ? nullptr : &*known;
}

const Firing* Firings::last(const std::string& rule, const std::string& subject) const {
  const auto known = std::find_if(all_.rbegin(), all_.rend(), [&](const Firing& each) {
    return each.rule == rule && each.subject == subject;
  });
  return known == all_.rend() ? nullptr : &*known;
}

std::size_t Firings::count(const Rule& rule, const std::string& subject, Clock::time_point now) const {
  return static_cast<std::size_t>(std::ranges::count_if(all_, [&](const Firing& each) {
    return each.rule == rule.name && each.subject == subject &&
           std::min(each.time, now) + rule.limits.within > now;
  }));
}

void Firings::forget_before(Clock::time_point oldest) {
  std::erase_if(all_, [oldest](const Firing& each) {
    return each.time < oldest && each.state != Firing::State::under_way;
  });
}

}  // namespace farport::router
