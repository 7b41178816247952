#include "router/wire/discovery_report.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <unistd.h>

#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

/// Problems of one kind that are told one by one; of the rest there is the count.
constexpr std::size_t kMaxDetails = 8;
constexpr std::size_t kMaxSearched = 64;
/// A path may have 4095 bytes, but one that is worth showing has fewer.
constexpr std::size_t kMaxText = 512;

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

const IssueText& text_of(DiscoveryIssue issue) {
  const auto place = std::find_if(kIssues.begin(), kIssues.end(),
                                  [&](const IssueText& text) { return text.issue == issue; });
  return place == kIssues.end() ? kIssues.back() : *place;
}

std::string cut(std::string text) {
  if (text.size() > kMaxText) text.resize(kMaxText);
  return text;
}

json detail_of(const DiscoveryProblem& problem) {
  return {{"about", cut(problem.about)},
          {"user", problem.user},
          {"why", cut(problem.why)},
          {"hint", cut(problem.hint)}};
}

json searched_by(const DiscoveryReport& report) {
  json directories = json::array();
  for (const std::string& directory : report.searched()) {
    if (directories.size() < kMaxSearched) directories.push_back(cut(directory));
  }
  return directories;
}

}  // namespace

std::string_view to_string(DiscoveryIssue issue) {
  return text_of(issue).name;
}

std::string summary_of(DiscoveryIssue issue, std::uint64_t count) {
  const IssueText& text = text_of(issue);
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

}  // namespace farport::router
