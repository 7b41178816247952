// What an agent tells of its search, to whom, and what a reader takes of it.
#include "router/wire/discovery_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

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

std::string body(const DiscoveryReport& report, Disclosure disclosure) {
  return json{{"version", "1"}, {"discovery", json::parse(to_json(report, disclosure))}}.dump();
}

Explanation told_by(const std::string& text) {
  const auto told = explanation_from_json(text);
  REQUIRE(told);
  return *told;
}

std::vector<std::string> lines_of(const std::string& text) {
  return told_by(text).problems;
}

}  // namespace

TEST_CASE("who may know is told what was searched, what is wrong with it and what to do", "[router]") {
  const Explanation told = told_by(body(example(), Disclosure::all));
  CHECK(told.told);
  CHECK_THAT(told.searched, Catch::StartsWith("it searches /tmp, /run/app as user "));
  CHECK_THAT(told_by(body(DiscoveryReport({"/tmp", "proc"}), Disclosure::all)).searched,
             Catch::StartsWith("it searches /tmp, every process (proc) as user "));
  const auto& lines = told.problems;
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "/run/app: No such file or directory");
  CHECK(
      lines[1] ==
      "/tmp/dotnet-diagnostic-1-2-socket: it belongs to user 1654 and farport runs as user 1000; run farport "
      "as user 1654");
  CHECK(lines[2] == "/tmp/dotnet-diagnostic-7-1-socket: its process has ended; remove the file");
}

TEST_CASE("others are told what kinds of problems there are, and how many", "[router]") {
  const std::string text = body(example(), Disclosure::counts);
  for (const auto* secret : {"/tmp", "/run", "1654", "user\":", "details"}) {
    INFO(secret);
    CHECK(text.find(secret) == std::string::npos);
  }
  CHECK(told_by(text).searched.empty());
  const auto lines = lines_of(text);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "1 search directory is not there");
  CHECK(lines[1] == "1 socket belongs to another user than the agent's");
  CHECK(lines[2] == "1 socket is stale: its process has ended");
}

TEST_CASE("a problem that is gone is told no more", "[router]") {
  DiscoveryReport report = example();
  report.set_scan({});
  report.clear_socket("/tmp/dotnet-diagnostic-7-1-socket");
  CHECK(report.problems().empty());
  CHECK(lines_of(body(report, Disclosure::counts)).empty());
}

TEST_CASE("however many problems there are and however long, little is told", "[router]") {
  DiscoveryReport report({std::string(100'000, 'd')});
  std::vector<DiscoveryProblem> many(
      10'000, {DiscoveryIssue::not_a_socket, std::string(5000, 'x'), 0, std::string(5000, 'y'), ""});
  report.set_scan(std::move(many));
  const std::string text = body(report, Disclosure::all);
  CHECK(text.size() < 20'000);
  const auto lines = lines_of(text);
  CHECK(lines.size() == 9);
  CHECK(lines.back() == "and 9992 more like this");
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

TEST_CASE("an answer of another agent is read with care", "[router]") {
  CHECK_FALSE(told_by(R"({"version":"0.1.0"})").told);
  CHECK(lines_of(R"({"discovery":17})").empty());
  CHECK(lines_of(R"({"discovery":{"problems":[1,"x",{},{"details":7},{"count":-1}]}})").empty());
  for (const std::string text : {"", "[]", "{", "null", R"({"discovery":{"problems":{"a":1}}})"}) {
    INFO(text);
    const auto told = explanation_from_json(text);
    CHECK((!told || told->problems.empty()));
  }
  CHECK_FALSE(explanation_from_json(std::string(2 << 20, ' ')));
  std::string many = R"({"discovery":{"problems":[)";
  for (int i = 0; i < 5000; ++i) many += R"({"summary":"s"},)";
  CHECK(lines_of(many + R"({"summary":"s"}]}})").size() <= 100);
}
