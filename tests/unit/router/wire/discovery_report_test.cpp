// What an agent tells of its search, and to whom.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "router/wire/diagnosis.hpp"

using namespace farport;
using namespace farport::router;
using nlohmann::json;

namespace {

DiscoveryReport example() {
  DiscoveryReport report({"/tmp", "/run/app"});
  report.set_scan({{DiscoveryIssue::foreign_socket, "/tmp/dotnet-diagnostic-1-2-socket", 1654,
                    "it belongs to user 1654 and farport runs as user 1000", "run farport as user 1654"},
                   {DiscoveryIssue::no_directory, "/run/app", 0, "No such file or directory", ""}});
  report.set_socket("/tmp/dotnet-diagnostic-7-1-socket",
                    {DiscoveryIssue::stale_socket, "/tmp/dotnet-diagnostic-7-1-socket", 1000,
                     "its process has ended", "remove the file"});
  return report;
}

std::vector<std::string> summaries(const std::string& text) {
  std::vector<std::string> all;
  const json report = json::parse(text);
  for (const json& problem : report.at("problems")) all.push_back(problem.at("summary").get<std::string>());
  return all;
}

}  // namespace

TEST_CASE("others are told what kinds of problems there are, and how many", "[router]") {
  const std::string text = to_json(example(), Disclosure::counts);
  for (const auto* secret : {"/tmp", "/run", "1654", "user\":", "details"}) {
    INFO(secret);
    CHECK(text.find(secret) == std::string::npos);
  }
  CHECK(summaries(text) == std::vector<std::string>{"1 search directory is not there",
                                                    "1 socket belongs to another user than the agent's",
                                                    "1 socket is stale: its process has ended"});
}

TEST_CASE("a problem that is gone is told no more", "[router]") {
  DiscoveryReport report = example();
  report.set_scan({});
  CHECK(report.problems().size() == 1);
  CHECK(summaries(to_json(report, Disclosure::counts)) ==
        std::vector<std::string>{"1 socket is stale: its process has ended"});
}

TEST_CASE("however many problems there are and however long, little is told", "[router]") {
  DiscoveryReport report({std::string(100'000, 'd')});
  std::vector<DiscoveryProblem> many(
      10'000, {DiscoveryIssue::not_a_socket, std::string(5000, 'x'), 0, std::string(5000, 'y'), ""});
  report.set_scan(std::move(many));
  CHECK(to_json(report, Disclosure::all).size() < 20'000);
}

TEST_CASE("every kind of problem has a name and words of its own", "[router]") {
  std::vector<std::string> seen;
  for (int kind = 0; kind <= static_cast<int>(DiscoveryIssue::other); ++kind) {
    const auto issue = static_cast<DiscoveryIssue>(kind);
    for (const std::string& text :
         {std::string(to_string(issue)), summary_of(issue, 1), summary_of(issue, 2)}) {
      INFO(text);
      CHECK(std::find(seen.begin(), seen.end(), text) == seen.end());
      seen.push_back(text);
    }
    CHECK_THAT(summary_of(issue, 1), Catch::StartsWith("1 "));
    CHECK_THAT(summary_of(issue, 2), Catch::StartsWith("2 "));
  }
}
