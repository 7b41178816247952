#include "router/wire/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include <unistd.h>

#include "base/text.hpp"
#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

/// The most problems of one kind that are listed; the rest are only counted.
constexpr std::size_t kMaxDetails = 8;
constexpr std::size_t kMaxSearched = 64;
/// A path may have 4095 bytes, but one that is worth showing is shorter.
constexpr std::size_t kMaxProblemText = 512;

struct IssueText {
  DiscoveryIssue issue;
  std::string_view name;
  std::string_view one;
  std::string_view many;
};

constexpr std::array kIssues{
    IssueText{DiscoveryIssue::no_directory, "no_directory", "1 search directory is not there",
              "search directories are not there"},
    IssueText{DiscoveryIssue::closed_directory, "closed_directory", "1 search directory cannot be read",
              "search directories cannot be read"},
    IssueText{DiscoveryIssue::foreign_socket, "foreign_socket",
              "1 socket belongs to another user than the agent's",
              "sockets belong to other users than the agent's"},
    IssueText{DiscoveryIssue::stale_socket, "stale_socket", "1 socket is stale: its process has ended",
              "sockets are stale: their processes have ended"},
    IssueText{DiscoveryIssue::not_a_socket, "not_a_socket",
              "1 file is named like a runtime's socket but is not a socket",
              "files are named like runtimes' sockets but are not sockets"},
    IssueText{DiscoveryIssue::silent_runtime, "silent_runtime", "1 process listens and does not answer",
              "processes listen and do not answer"},
    IssueText{DiscoveryIssue::diagnostics_off, "diagnostics_off",
              "1 .NET process has its diagnostics switched off",
              ".NET processes have their diagnostics switched off"},
    IssueText{DiscoveryIssue::socket_elsewhere, "socket_elsewhere",
              "1 .NET process has its socket where the agent does not look",
              ".NET processes have their sockets where the agent does not look"},
    IssueText{DiscoveryIssue::out_of_reach, "out_of_reach", "1 .NET process is out of the agent's reach",
              ".NET processes are out of the agent's reach"},
    IssueText{DiscoveryIssue::starting, "starting", "1 .NET process has just started, and is not listed yet",
              ".NET processes have just started, and are not listed yet"},
    IssueText{DiscoveryIssue::other, "other", "1 socket cannot be used", "sockets cannot be used"},
};

const IssueText& words_for(DiscoveryIssue issue) {
  const auto place = std::find_if(kIssues.begin(), kIssues.end(),
                                  [&](const IssueText& text) { return text.issue == issue; });
  return place == kIssues.end() ? kIssues.back() : *place;
}

json detail_of(const DiscoveryProblem& problem) {
  return {{"about", shortened(problem.about, kMaxProblemText)},
          {"user", problem.user},
          {"why", shortened(problem.why, kMaxProblemText)},
          {"hint", shortened(problem.hint, kMaxProblemText)}};
}

json searched_by(const DiscoveryReport& report) {
  json directories = json::array();
  for (const std::string& directory : report.searched()) {
    if (directories.size() < kMaxSearched) directories.push_back(shortened(directory, kMaxProblemText));
  }
  return directories;
}

}  // namespace

std::string_view to_string(DiscoveryIssue issue) {
  return words_for(issue).name;
}

std::string summary_of(DiscoveryIssue issue, std::uint64_t count) {
  const IssueText& text = words_for(issue);
  return count == 1 ? std::string(text.one) : std::to_string(count) + " " + std::string(text.many);
}

std::string DiscoveryProblem::message() const {
  return about + ": " + why + (hint.empty() ? "" : "; " + hint);
}

DiscoveryProblem problem_of(DiscoveryIssue issue, uid_t user, const Error& error) {
  return {issue, error.on, user, error.why, error.hint};
}

std::vector<DiscoveryProblem> DiscoveryReport::problems() const {
  std::vector<DiscoveryProblem> all = scan_;
  for (const auto& [path, problem] : sockets_) all.push_back(problem);
  all.insert(all.end(), processes_.begin(), processes_.end());
  return all;
}

std::string to_json(const DiscoveryReport& report, Disclosure disclosure) {
  std::map<DiscoveryIssue, std::vector<DiscoveryProblem>> by_issue;
  for (DiscoveryProblem& problem : report.problems()) by_issue[problem.issue].push_back(std::move(problem));
  json problems = json::array();
  for (const auto& [issue, all] : by_issue) {
    json problem = {
        {"kind", to_string(issue)}, {"count", all.size()}, {"summary", summary_of(issue, all.size())}};
    if (disclosure == Disclosure::all) {
      json details = json::array();
      for (std::size_t i = 0; i < std::min(all.size(), kMaxDetails); ++i)
        details.push_back(detail_of(all[i]));
      problem["details"] = std::move(details);
    }
    problems.push_back(std::move(problem));
  }
  json object = {{"problems", std::move(problems)}};
  if (disclosure == Disclosure::all) {
    object["searched"] = searched_by(report);
    object["user"] = ::geteuid();
  }
  return text_of(object);
}

namespace {

using Level = Finding::Level;

constexpr std::size_t kMaxShownPlaces = 16;
constexpr std::size_t kLongestWord = 32;
constexpr std::size_t kLongestText = 1024;
/// The most diagnoses that are read from an answer. Each has nine values at most.
constexpr std::size_t kMaxDiagnoses = 1000;
constexpr std::size_t kLongestAnswer = std::size_t{8} * 1024 * 1024;
constexpr std::size_t kMaxValues = 10 * kMaxDiagnoses;

constexpr const char* kTimeFormat = "%Y-%m-%dT%H:%M:%SZ";

std::string limited(const std::string& text) {
  return std::string(shortened(text, kLongestText));
}

std::string_view step_of(DiscoveryIssue issue) {
  switch (issue) {
    case DiscoveryIssue::no_directory:
    case DiscoveryIssue::closed_directory:
      return step::kSearch;
    case DiscoveryIssue::diagnostics_off:
    case DiscoveryIssue::socket_elsewhere:
    case DiscoveryIssue::out_of_reach:
    case DiscoveryIssue::starting:
    case DiscoveryIssue::stale_socket:
    case DiscoveryIssue::not_a_socket:
      return step::kSocket;
    case DiscoveryIssue::foreign_socket:
      return step::kOpen;
    case DiscoveryIssue::silent_runtime:
    case DiscoveryIssue::other:
      break;
  }
  return step::kAnswer;
}

/// Whether the issue is about a process.
bool is_of_process(DiscoveryIssue issue) {
  return issue == DiscoveryIssue::diagnostics_off || issue == DiscoveryIssue::socket_elsewhere ||
         issue == DiscoveryIssue::out_of_reach || issue == DiscoveryIssue::foreign_socket ||
         issue == DiscoveryIssue::silent_runtime || issue == DiscoveryIssue::starting;
}

/// While no runtime is listed, whatever may keep one from being listed is a problem, otherwise a warning.
Level level_of(DiscoveryIssue issue, std::size_t seen) {
  const bool left_over = issue == DiscoveryIssue::stale_socket || issue == DiscoveryIssue::not_a_socket;
  return seen == 0 && !left_over ? Level::problem : Level::warning;
}

std::string searched_text(const DiscoveryReport& report) {
  std::string text;
  std::size_t shown = 0;
  for (const std::string& place : report.searched()) {
    if (shown++ == kMaxShownPlaces) {
      text += " and " + std::to_string(report.searched().size() - kMaxShownPlaces) + " more";
      break;
    }
    text += (text.empty() ? "" : ", ") + (place == kSearchProcesses ? "every process (proc)" : place);
  }
  return "it searches " + limited(text) + " as user " + std::to_string(::geteuid());
}

std::string count_of(std::size_t count, std::string_view thing) {
  return std::to_string(count) + " " + std::string(thing) + (count == 1 ? "" : "s");
}

Diagnosis of_processes(std::size_t seen, std::size_t unserved, bool nothing_wrong) {
  if (seen + unserved == 0) {
    return {
        std::string(step::kProcess),
        {Level::problem,
         std::string("it knows of ") + (nothing_wrong ? "nothing that is wrong, and of " : "") +
             "no .NET process that you may see",
         "start the application; does the agent share its pid namespace and its /tmp, and is there a grant "
         "for it (farport can-i)?"}};
  }
  std::string others;
  if (unserved == 1) others = "1 .NET process that is not";
  if (unserved > 1) others = std::to_string(unserved) + " .NET processes that are not";
  const std::string listed = count_of(seen, "runtime") + (seen == 1 ? " is" : " are") + " listed for you";
  if (unserved == 0) return {std::string(step::kProcess), {Level::ok, listed}};
  return {std::string(step::kProcess),
          {Level::ok, listed + ", and there " + (unserved == 1 ? "is " : "are ") + others}};
}

void add_issue(std::vector<Diagnosis>& all, const std::vector<const DiscoveryProblem*>& problems,
               std::size_t seen, Disclosure disclosure) {
  const DiscoveryIssue issue = problems.front()->issue;
  const std::string step(step_of(issue));
  const Level level = level_of(issue, seen);
  if (disclosure == Disclosure::counts) {
    all.push_back({step, {level, summary_of(issue, problems.size())}});
    return;
  }
  for (std::size_t i = 0; i < std::min(problems.size(), kMaxDetails); ++i) {
    all.push_back({step,
                   {level, limited(problems[i]->about) + ": " + limited(problems[i]->why),
                    limited(problems[i]->hint)}});
  }
  if (problems.size() > kMaxDetails) {
    all.push_back(
        {step, {level, "and " + std::to_string(problems.size() - kMaxDetails) + " more like this"}});
  }
}

std::size_t place_of(std::string_view step) {
  return static_cast<std::size_t>(std::find(std::begin(kAgentSteps), std::end(kAgentSteps), step) -
                                  std::begin(kAgentSteps));
}

/// Diagnoses of the same step keep their order.
std::vector<Diagnosis> sorted_by_step(std::vector<Diagnosis> all) {
  std::vector<Diagnosis> sorted;
  for (const std::string_view step : kAgentSteps) {
    for (Diagnosis& each : all) {
      if (each.step == step) sorted.push_back(std::move(each));
    }
  }
  return sorted;
}

std::vector<Diagnosis> counted(const std::vector<Diagnosis>& of_runtimes) {
  std::map<std::tuple<std::size_t, Level, std::string>, std::size_t> counts;
  for (const Diagnosis& each : of_runtimes) {
    ++counts[{place_of(each.step), each.finding.level, each.summary}];
  }
  std::vector<Diagnosis> all;
  for (const auto& [what, count] : counts) {
    const auto& [place, level, summary] = what;
    if (place == std::size(kAgentSteps)) continue;
    all.push_back({std::string(kAgentSteps[place]), {level, count_of(count, "runtime") + ": " + summary}});
  }
  return all;
}

std::string time_text(std::time_t time) {
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), kTimeFormat, &utc)};
}

json object_of(const Diagnosis& diagnosis) {
  json object = {{"step", diagnosis.step},
                 {"level", to_string(diagnosis.finding.level)},
                 {"text", limited(diagnosis.finding.text)}};
  if (!diagnosis.finding.hint.empty()) object["hint"] = limited(diagnosis.finding.hint);
  if (diagnosis.runtime) {
    object["runtime"] = {
        {"id", diagnosis.runtime->id}, {"name", diagnosis.runtime->name}, {"pid", diagnosis.runtime->pid}};
  }
  return object;
}

std::optional<Level> level_named(std::string_view word) {
  for (const Level level : {Level::ok, Level::warning, Level::problem, Level::skipped}) {
    if (word == to_string(level)) return level;
  }
  return std::nullopt;
}

bool is_step_word(std::string_view word) {
  return !word.empty() && word.size() <= kLongestWord &&
         std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
}

std::string shown_text(const json& object, const char* name) {
  return object.contains(name) ? limited(object.at(name).get<std::string>()) : std::string();
}

std::optional<Diagnosis> diagnosis_in(const json& object) {
  Diagnosis diagnosis;
  diagnosis.step = object.at("step").get<std::string>();
  const auto level = level_named(object.at("level").get<std::string>());
  if (!level || !is_step_word(diagnosis.step)) return std::nullopt;
  diagnosis.finding = {*level, limited(object.at("text").get<std::string>()), shown_text(object, "hint")};
  if (object.contains("runtime")) {
    const json& runtime = object.at("runtime");
    diagnosis.runtime = {shown_text(runtime, "id"), shown_text(runtime, "name"),
                         number_at<std::uint64_t>(runtime, "pid")};
  }
  return diagnosis;
}

}  // namespace

std::vector<Diagnosis> diagnoses_of(const DiscoveryReport& report, std::size_t seen, Disclosure disclosure) {
  const std::vector<DiscoveryProblem> problems = report.problems();
  std::map<DiscoveryIssue, std::vector<const DiscoveryProblem*>> by_issue;
  std::size_t unserved = 0;
  for (const DiscoveryProblem& problem : problems) {
    by_issue[problem.issue].push_back(&problem);
    if (is_of_process(problem.issue)) ++unserved;
  }
  std::vector<Diagnosis> all;
  if (disclosure == Disclosure::all) {
    all.push_back({std::string(step::kSearch), {Level::ok, searched_text(report)}});
  }
  all.push_back(of_processes(seen, unserved, problems.empty()));
  for (const auto& [issue, of_issue] : by_issue) add_issue(all, of_issue, seen, disclosure);
  return sorted_by_step(std::move(all));
}

std::vector<Diagnosis> as_told(std::vector<Diagnosis> of_runtimes, Disclosure disclosure) {
  if (disclosure == Disclosure::counts) return counted(of_runtimes);
  return sorted_by_step(std::move(of_runtimes));
}

std::string to_json(const DoctorAnswer& answer) {
  json diagnoses = json::array();
  for (const Diagnosis& diagnosis : answer.diagnoses) diagnoses.push_back(object_of(diagnosis));
  return text_of(
      {{"version", answer.version}, {"time", time_text(answer.time)}, {"diagnoses", std::move(diagnoses)}});
}

Result<DoctorAnswer> doctor_answer_from_json(std::string_view body) {
  const auto unreadable = [](const std::string& why) {
    return fail("read", "what the agent says of itself", why);
  };
  if (body.size() > kLongestAnswer) {
    return unreadable("it has more than " + std::to_string(kLongestAnswer) + " bytes");
  }
  try {
    const json object = parse_bounded(body, kMaxValues);
    DoctorAnswer answer;
    answer.version = shown_text(object, "version");
    const auto time = utc_time(object.at("time").get<std::string>());
    if (!time) return unreadable("\"time\" is no time");
    answer.time = std::chrono::system_clock::to_time_t(*time);
    for (const json& each : object.at("diagnoses")) {
      if (answer.diagnoses.size() == kMaxDiagnoses) break;
      auto diagnosis = diagnosis_in(each);
      if (diagnosis) answer.diagnoses.push_back(std::move(*diagnosis));
    }
    return answer;
  } catch (const std::exception& error) {
    return unreadable(reason_of(error));
  }
}

}  // namespace farport::router
