#include "router/wire/artifact.hpp"

#include <catch2/catch.hpp>

using farport::router::artifact_event_from_json;
using farport::router::ArtifactEvent;

TEST_CASE("no content of an artifact has the name of its description", "[artifacts]") {
  farport::router::Artifact artifact;
  artifact.id = "20261127T101112Z-orders-4711-1a2b3c4d";
  artifact.kind = "gcdump";
  artifact.ending = ".json";
  artifact.runtime.id = "2cf9291d-e961-4c59-bf2c-2f0a0c1e6e11";
  artifact.permissions = {"CollectTracing2"};
  artifact.sha256 = "0";
  const auto read = farport::router::artifact_from_json(to_json(artifact));
  REQUIRE(read);
  CHECK(read->file_name() == artifact.id + ".content.json");
}

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
