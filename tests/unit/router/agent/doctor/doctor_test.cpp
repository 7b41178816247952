// Looks at runtimes: one serves all who ask, and none is waited for without end.
#include "router/agent/doctor/doctor.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;
using transport::Task;

namespace {

/// A runtime that takes no connection, and counts who asks for one.
class ClosedPort final : public DiagnosticPort {
 public:
  Task<Connection> open() override {
    ++opened;
    co_return fail("connect to", path_, "it is closed");
  }
  [[nodiscard]] transport::PeerCredentials process() const override { return {0, ::geteuid(), ::getegid()}; }
  [[nodiscard]] const std::string& path() const override { return path_; }

  int opened = 0;

 private:
  std::string path_ = "/tmp/dotnet-diagnostic-1-1-socket";
};

struct Ward {
  Ward()
      : registry(loop),
        discovery(loop, registry, make_silent_log(), {}),
        doctor(loop, registry, discovery, {}) {}

  transport::Loop loop;
  Registry registry;
  Discovery discovery;
  Doctor doctor;
  transport::Share share{loop, std::chrono::seconds(1)};
};

Runtime runtime_named(const std::string& name) {
  Runtime runtime;
  runtime.id = "id of " + name;
  runtime.name = name;
  runtime.pid = 7;
  return runtime;
}

Task<std::vector<std::vector<Diagnosis>>> ask_often(Ward& ward, int times) {
  Registry::Filter all = [](const Runtime&) { return true; };
  std::vector<std::vector<Diagnosis>> answers;
  transport::TaskSet asking(ward.loop);
  for (int i = 0; i < times; ++i) {
    asking.spawn(
        [](Ward& in, Registry::Filter filter, std::vector<std::vector<Diagnosis>>& to) -> Task<void> {
          auto found = co_await in.doctor.examine(std::move(filter), Disclosure::all, in.share);
          to.push_back(std::move(found));
        }(ward, all, answers));
  }
  co_await asking.idle();
  co_return answers;
}

}  // namespace

TEST_CASE("one look at a runtime serves all who ask at once", "[doctor]") {
  Ward ward;
  ClosedPort port;
  const auto entry = ward.registry.add(runtime_named("orders"), port, false);
  REQUIRE(entry);
  const auto answers = ward.loop.run(ask_often(ward, 50));
  REQUIRE(answers.size() == 50);
  CHECK(port.opened == 1);
  for (const auto& answer : answers) {
    const auto silent = std::find_if(answer.begin(), answer.end(), [](const Diagnosis& each) {
      return each.step == step::kAnswer && each.finding.level == Finding::Level::problem;
    });
    REQUIRE(silent != answer.end());
    CHECK(silent->runtime->name == "orders");
    CHECK_THAT(silent->finding.text, Catch::Contains("it is closed"));
  }
}

TEST_CASE("whether one that doesn't answer may be dumped is not asked", "[doctor]") {
  Ward ward;
  ClosedPort port;
  const auto entry = ward.registry.add(runtime_named("orders"), port, false);
  REQUIRE(entry);
  const auto answers = ward.loop.run(ask_often(ward, 1));
  const auto dump = std::find_if(answers[0].begin(), answers[0].end(),
                                 [](const Diagnosis& each) { return each.step == step::kDump; });
  REQUIRE(dump != answers[0].end());
  CHECK(dump->finding.level == Finding::Level::skipped);
}

TEST_CASE("without a runtime there is one problem", "[doctor]") {
  Ward ward;
  const auto answers = ward.loop.run(ask_often(ward, 1));
  int problems = 0;
  for (const Diagnosis& each : answers[0]) problems += each.finding.level == Finding::Level::problem ? 1 : 0;
  CHECK(problems == 1);
}
