#include "router/wire/artifact.hpp"

#include <catch2/catch.hpp>

using farport::router::artifact_event_from_json;
using farport::router::ArtifactEvent;

TEST_CASE("what an agent says of its artifacts", "[artifacts]") {
  for (const ArtifactEvent event : {ArtifactEvent::changed, ArtifactEvent::stopping}) {
    const std::string line = to_json_line(event);
    CHECK(line.back() == '\n');
    const auto read = artifact_event_from_json(line);
    REQUIRE(read);
    CHECK(*read == event);
  }
  for (const char* wrong : {"", "[]", "[{\"id\": \"a\"}]", "{}", "{\"event\": 1}", "{\"event\": \"other\"}"})
    CHECK_FALSE(artifact_event_from_json(wrong));
}
