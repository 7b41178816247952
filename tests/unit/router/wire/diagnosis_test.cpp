// What an agent says for doctor: of its search and of runtimes, to whom, and what a reader takes of it.
#include "router/wire/diagnosis.hpp"

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;
using Level = Finding::Level;

namespace {

DiscoveryProblem foreign_socket(int number) {
  return {DiscoveryIssue::foreign_socket, "/tmp/dotnet-diagnostic-" + std::to_string(number) + "-2-socket",
          1654, "it belongs to user 1654 and farport runs as user 1000", "run farport as user 1654"};
}

DiscoveryReport example_search(std::vector<DiscoveryProblem> problems) {
  DiscoveryReport report({"/tmp", "proc"});
  report.set_scan(std::move(problems));
  return report;
}

std::vector<std::string> steps_of(const std::vector<Diagnosis>& all) {
  std::vector<std::string> steps;
  for (const Diagnosis& each : all) steps.push_back(each.step);
  return steps;
}

Diagnosis dump_of(const std::string& name, Level level, const std::string& summary) {
  return {std::string(step::kDump),
          {level, name + " " + summary + " since /secret"},
          DiagnosedRuntime{"id", name, 7},
          summary};
}

}  // namespace

TEST_CASE("doctor names what was searched, and what is wrong with it in the order of its steps", "[router]") {
  const auto all =
      diagnoses_of(example_search({foreign_socket(1),
                                   {DiscoveryIssue::no_directory, "/run/app", 0, "No such file", "make it"}}),
                   0, Disclosure::all);
  CHECK(steps_of(all) == std::vector<std::string>{"search", "search", "process", "open"});
  CHECK_THAT(all[0].finding.text, Catch::StartsWith("it searches /tmp, every process (proc) as user "));
  CHECK(all[1].finding.text == "/run/app: No such file");
  CHECK(all[1].finding.hint == "make it");
  CHECK(all[2].finding.level == Level::ok);
  CHECK(all[3].finding.level == Level::problem);
  CHECK(all[3].finding.hint == "run farport as user 1654");
}

TEST_CASE("what keeps nobody from a runtime is no more than a warning", "[router]") {
  const auto all = diagnoses_of(example_search({foreign_socket(1)}), 1, Disclosure::all);
  CHECK(all.back().finding.level == Level::warning);
  const auto stale = diagnoses_of(
      example_search({{DiscoveryIssue::stale_socket, "/tmp/s", 0, "it is stale", ""}}), 0, Disclosure::all);
  CHECK(stale.back().finding.level == Level::warning);
}

TEST_CASE("where there is no .NET process doctor says so", "[router]") {
  const auto all = diagnoses_of(example_search({}), 0, Disclosure::counts);
  REQUIRE(steps_of(all) == std::vector<std::string>{"process"});
  CHECK(all[0].finding.level == Level::problem);
  CHECK_FALSE(all[0].finding.hint.empty());
  CHECK_THAT(all[0].finding.text, Catch::StartsWith("it knows of nothing that is wrong, and of no .NET"));
}

TEST_CASE("doctor does not say that nothing is wrong where something is", "[router]") {
  const auto all = diagnoses_of(
      example_search({{DiscoveryIssue::not_a_socket, "/tmp/s", 0, "Function not implemented", ""}}), 0,
      Disclosure::all);
  REQUIRE(steps_of(all) == std::vector<std::string>{"search", "process", "socket"});
  CHECK(all[1].finding.text == "it knows of no .NET process that you may see");
}

TEST_CASE("who may know no more is told counts", "[router]") {
  const auto search =
      diagnoses_of(example_search({foreign_socket(1), foreign_socket(2)}), 0, Disclosure::counts);
  REQUIRE(steps_of(search) == std::vector<std::string>{"process", "open"});
  CHECK(search[1].finding.text == "2 sockets belong to other users than the agent's");
  CHECK(search[1].finding.hint.empty());
  const auto told =
      as_told({dump_of("a", Level::ok, "can be dumped"), dump_of("b", Level::problem, "can't be dumped"),
               dump_of("c", Level::ok, "can be dumped")},
              Disclosure::counts);
  REQUIRE(told.size() == 2);
  CHECK(told[0].finding.text == "2 runtimes: can be dumped");
  CHECK(told[1].finding.text == "1 runtime: can't be dumped");
  for (const Diagnosis& each : told) CHECK_FALSE(each.runtime);
}

TEST_CASE("however much is wrong, doctor says little of it", "[router]") {
  const auto all = diagnoses_of(example_search(std::vector<DiscoveryProblem>(
                                    10'000, {DiscoveryIssue::not_a_socket, std::string(5000, 'x'), 0,
                                             std::string(5000, 'y'), std::string(5000, 'z')})),
                                0, Disclosure::all);
  CHECK(all.size() < 20);
  CHECK(all.back().finding.text == "and 9992 more like this");
  CHECK(to_json({"1", 0, all}).size() < 40'000);
}

TEST_CASE("doctor's answer is read as it was written", "[router]") {
  const DoctorAnswer said{"0.1.0", 1'790'000'000, {dump_of("orders", Level::warning, "may be dumped")}};
  const auto read = doctor_answer_from_json(to_json(said));
  REQUIRE(read);
  CHECK(read->version == "0.1.0");
  CHECK(read->time == said.time);
  REQUIRE(read->diagnoses.size() == 1);
  CHECK(read->diagnoses[0].step == "dump");
  CHECK(read->diagnoses[0].finding.level == Level::warning);
  CHECK(read->diagnoses[0].runtime->name == "orders");
  CHECK(read->diagnoses[0].runtime->pid == 7);
}

TEST_CASE("an answer of a hostile agent for doctor is refused, or cut to what may be shown", "[router]") {
  const std::string begin = R"({"version":"1","time":"2026-01-01T00:00:00Z","diagnoses":[)";
  for (const std::string text : {"", "[]", "{", "null", "{}", R"({"time":"yesterday","diagnoses":[]})",
                                 R"({"time":7,"diagnoses":[]})"}) {
    INFO(text);
    CHECK_FALSE(doctor_answer_from_json(text));
  }
  CHECK_FALSE(doctor_answer_from_json(begin + "7]}"));
  CHECK_FALSE(doctor_answer_from_json(begin + R"({"step":"x","level":"ok","text":7}]})"));
  CHECK_FALSE(doctor_answer_from_json(std::string(std::size_t{9} << 20, ' ')));
  CHECK_FALSE(doctor_answer_from_json(begin + std::string(200, '[') + std::string(200, ']') + "]}"));
  std::string many = begin;
  for (int i = 0; i < 20'000; ++i) many += R"({"step":"x","level":"ok","text":""},)";
  CHECK_FALSE(doctor_answer_from_json(many + R"({"step":"x","level":"ok","text":""}]})"));
  const auto long_text = doctor_answer_from_json(begin + R"({"step":"dump","level":"ok","text":")" +
                                                 std::string(100'000, 'x') + R"("}]})");
  REQUIRE(long_text);
  CHECK(long_text->diagnoses[0].finding.text.size() <= 1024);
}

TEST_CASE("steps and levels that are not known are left out", "[router]") {
  const auto read = doctor_answer_from_json(
      R"({"version":"1","time":"2026-01-01T00:00:00Z","diagnoses":[
          {"step":"dump","level":"fatal","text":"x"},{"step":"a b","level":"ok","text":"x"},
          {"step":"later","level":"ok","text":"kept"}]})");
  REQUIRE(read);
  REQUIRE(read->diagnoses.size() == 1);
  CHECK(read->diagnoses[0].finding.text == "kept");
}
