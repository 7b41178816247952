#include "cli/output/received_artifacts.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "router/wire/content_digest.hpp"
#include "tests/unit/auth/fixtures.hpp"

using farport::auth::test::TemporaryDirectory;
using farport::cli::received_names;
using farport::cli::ReceivedArtifacts;
using farport::router::Artifact;

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// An artifact with this content; its size and SHA-256 are not known if it is cut.
Artifact artifact(std::string id, std::string_view content, Artifact::State state = Artifact::State::whole) {
  Artifact made;
  made.id = std::move(id);
  made.kind = "trace";
  made.ending = ".nettrace";
  made.permissions = {"trace"};
  made.state = state;
  made.bytes = content.size();
  if (state == Artifact::State::cut) return made;
  farport::router::ContentDigest digest;
  digest.add(bytes_of(content));
  made.size = content.size();
  made.sha256 = digest.end();
  return made;
}

std::unique_ptr<ReceivedArtifacts> open(const TemporaryDirectory& directory) {
  std::filesystem::permissions(directory.path(), std::filesystem::perms::owner_all);
  auto opened = ReceivedArtifacts::open(directory.path());
  REQUIRE(opened);
  return std::move(*opened);
}

std::string receive(ReceivedArtifacts& received, const Artifact& wanted, std::string_view content,
                    std::string_view agent = "one") {
  const auto part = received.begin(wanted, agent);
  REQUIRE(part);
  REQUIRE((*part)->append(bytes_of(content.substr((*part)->size()))));
  REQUIRE((*part)->end());
  const auto kept = received.keep(wanted);
  REQUIRE(kept);
  return *kept;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("farport names what is received, whatever an agent says") {
  const auto named = [](std::string_view agent, std::string kind, std::string id) {
    Artifact of = artifact(std::move(id), "");
    of.kind = std::move(kind);
    return received_names(agent, of).content;
  };
  CHECK(named("orders.example:9000", "trace", "20261127T101112Z-orders-1-1a2b3c4d") ==
        "orders.example_9000_trace_20261127T101112Z-orders-1-1a2b3c4d.nettrace");
  CHECK(named("k8s://prod/ds/farport", "../../x", "y") == "k8s___prod_ds_farport__._.._x_y.nettrace");
  CHECK(named("-rf", "", "y") == "_rf_dotnet_y.nettrace");
  CHECK(named(".hidden", "trace", "y") == "_hidden_trace_y.nettrace");
  // With "." and ".part" it must fit into 255 bytes, and the ending has up to 20.
  CHECK(named(std::string(500, 'a'), std::string(500, 'k'), std::string(200, 'i')).size() <=
        249 - 20 + std::string_view(".nettrace").size());
}

TEST_CASE("what has come does not come again, also from another agent and after a start") {
  const TemporaryDirectory directory;
  const Artifact whole = artifact("a", "content");
  const Artifact cut = artifact("b", "half", Artifact::State::cut);
  {
    const auto received = open(directory);
    CHECK(content_of(receive(*received, whole, "content")) == "content");
    CHECK(content_of(receive(*received, cut, "half")) == "half");
    CHECK(received->has(whole));
  }
  const auto again = open(directory);
  CHECK(again->has(whole));
  CHECK(again->has(cut));
  CHECK(std::filesystem::exists(directory.path() + "/one_trace_a.json"));
}

TEST_CASE("an agent's artifact is not taken for another one of the same id") {
  const TemporaryDirectory directory;
  const auto received = open(directory);
  const Artifact hostile = artifact("a", "another content");
  const Artifact honest = artifact("a", "content");
  std::ignore = receive(*received, hostile, "another content", "hostile");
  CHECK(!received->has(honest));
  CHECK(content_of(receive(*received, honest, "content", "honest")) == "content");
}

TEST_CASE("a part is only continued if it was begun here, and as the same artifact") {
  const TemporaryDirectory directory;
  const Artifact wanted = artifact("a", "content");
  {
    const auto received = open(directory);
    const auto part = received->begin(wanted, "one");
    REQUIRE(part);
    REQUIRE((*part)->append(bytes_of("con")));
  }
  const auto received = open(directory);
  const auto part = received->begin(wanted, "at another address");
  REQUIRE(part);
  CHECK((*part)->size() == 3);
  // The agent's name is the same, the content is not.
  const auto other = received->begin(artifact("a", "continent"), "one");
  REQUIRE(!other);
  CHECK(other.error().cause == farport::Cause(EEXIST));
  CHECK(content_of(directory.path() + "/.one_trace_a.nettrace.part") == "con");
}

TEST_CASE("half of another artifact does not get the name of one that has come and was moved away") {
  const TemporaryDirectory directory;
  const Artifact other = artifact("a", "another content");
  {
    const auto received = open(directory);
    for (const std::string& path :
         {receive(*received, artifact("a", "content"), "content"), directory.path() + "/one_trace_a.json"})
      std::filesystem::remove(path);
    const auto part = received->begin(other, "one");
    REQUIRE(part);
    REQUIRE((*part)->append(bytes_of("another")));
  }
  const auto received = open(directory);
  CHECK(!std::filesystem::exists(directory.path() + "/one_trace_a.nettrace"));
  CHECK(content_of(receive(*received, other, "another content")) == "another content");
}

TEST_CASE("what is larger than what is free is not begun") {
  const TemporaryDirectory directory;
  const auto received = open(directory);
  Artifact huge = artifact("a", "content");
  huge.size = std::uint64_t{1} << 60;
  const auto begun = received->begin(huge, "one");
  REQUIRE(!begun);
  CHECK(begun.error().cause == farport::Cause(ENOSPC));
}

TEST_CASE("no file of the user's own is replaced") {
  const TemporaryDirectory directory;
  const auto received = open(directory);
  for (const std::string name :
       {"one_trace_a.nettrace", "one_trace_b.json", ".one_trace_c.nettrace.part", ".one_trace_d.json.part"}) {
    std::ofstream(directory.path() + "/" + name) << "mine";
    const auto at = name.find("trace_") + 6;
    const Artifact wanted = artifact(name.substr(at, 1), "theirs");
    const auto begun = received->begin(wanted, "one");
    REQUIRE(!begun);
    CHECK(begun.error().cause == farport::Cause(EEXIST));
    CHECK(content_of(directory.path() + "/" + name) == "mine");
  }
  // One that appears while it comes.
  const Artifact late = artifact("e", "theirs");
  const auto part = received->begin(late, "one");
  REQUIRE(part);
  REQUIRE((*part)->append(bytes_of("theirs")));
  REQUIRE((*part)->end());
  std::ofstream(directory.path() + "/one_trace_e.nettrace") << "mine";
  CHECK(!received->keep(late));
  CHECK(content_of(directory.path() + "/one_trace_e.nettrace") == "mine");
}

TEST_CASE("a content whose size the agent has not said is not taken without bound") {
  const TemporaryDirectory directory;
  const auto received = open(directory);
  const auto part = received->begin(artifact("a", "half", Artifact::State::cut), "one");
  REQUIRE(part);
  const std::vector<std::byte> piece(std::size_t{32} << 20);
  farport::Result<void> appended;
  for (int count = 0; appended && count < 100; ++count) appended = (*part)->append(piece);
  REQUIRE(!appended);
  CHECK(appended.error().why.find("more comes than 256 MiB") != std::string::npos);
  CHECK((*part)->size() == std::uint64_t{256} << 20);
}
