#include "router/agent/artifacts/artifact_list.hpp"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/auth/fixtures.hpp"

using namespace farport;
using router::Artifact;
using router::ArtifactList;
using router::Artifacts;
using router::CrashPart;

namespace {

struct Listed {
  auth::test::TemporaryDirectory place;
  std::shared_ptr<Artifacts> directory =
      std::make_shared<Artifacts>(place.path(), router::ArtifactLimits{1 << 20});
  ArtifactList list{directory};

  std::string keep(const std::string& name) const {
    Artifact crash;
    crash.runtime.id = "2cf9291d-e961-4c59-bf2c-2f0a0c1e6e11";
    crash.runtime.name = name;
    crash.kind = router::kCrash;
    crash.ending = ".nettrace";
    crash.permissions = {"CollectTracing2"};
    crash.time = "2026-11-27T10:11:12Z";
    std::size_t removed = 0;
    REQUIRE(directory->keep(crash, {{CrashPart::Kind::events, [] { return std::vector<std::byte>(); }, 0}},
                            removed));
    return crash.id;
  }
};

}  // namespace

TEST_CASE("a list has what the directory has, and reads again what has changed alone") {
  Listed listed;
  CHECK(listed.list.read()->empty());
  const std::string first = listed.keep("orders");
  const auto before = listed.list.read();
  REQUIRE(before->size() == 1);
  CHECK(before->at(first)->text == to_json(*listed.directory->find(first)));
  CHECK(before->at(first)->about.permissions == std::vector<std::string>{"CollectTracing2"});
  CHECK(before->at(first)->about.runtime.name == "orders");
  CHECK_FALSE(listed.list.grows());

  const std::string second = listed.keep("billing");
  REQUIRE(listed.directory->note_sent(second, "bucket"));
  const auto after = listed.list.read();
  REQUIRE(after->size() == 2);
  CHECK(after->at(first) == before->at(first));
  CHECK(after->at(second)->text.find("bucket") != std::string::npos);
  REQUIRE(listed.directory->note_sent(first, "bucket"));
  CHECK(listed.list.read()->at(first)->text.find("bucket") != std::string::npos);
  REQUIRE(listed.directory->remove(first));
  CHECK(listed.list.read()->size() == 1);
}
