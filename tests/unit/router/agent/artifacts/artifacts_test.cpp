#include "router/agent/artifacts/artifacts.hpp"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <memory>
#include <random>
#include <span>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

#include <catch2/catch.hpp>

#include "base/files.hpp"
#include "router/agent/artifacts/artifact_file.hpp"
#include "router/agent/artifacts/compressed_file.hpp"
#include "tests/unit/auth/fixtures.hpp"

using namespace farport;
using router::Artifact;
using router::ArtifactFile;
using router::Artifacts;
using router::CompressedFileReader;
using router::CrashPart;

namespace {

constexpr std::uint64_t kPlenty = 1 << 20;

/// Bytes that can't be compressed.
std::string noise(std::size_t bytes) {
  static std::minstd_rand random;
  std::string noise(bytes, ' ');
  for (char& each : noise) each = static_cast<char>(random() >> 8 & 0xFF);
  return noise;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

CrashPart part(std::string content, CrashPart::Kind kind = CrashPart::Kind::events) {
  const std::uint64_t held = content.size();
  const auto left = std::make_shared<std::string>(std::move(content));
  return {kind, [left] { return bytes_of(std::exchange(*left, {})); }, held};
}

std::vector<CrashPart> recording(std::size_t bytes = 100) {
  return {part(noise(bytes))};
}

Artifact ended(std::string name, std::string time, bool in_order = false) {
  Artifact made;
  made.runtime.id = "2cf9291d-e961-4c59-bf2c-2f0a0c1e6e11";
  made.runtime.name = std::move(name);
  made.runtime.pid = 7;
  made.runtime.kernel_pid = 8;
  made.kind = router::kCrash;
  made.ending = ".nettrace";
  made.permissions = {"CollectTracing2"};
  made.time = std::move(time);
  made.why = "exit code 134";
  made.in_order = in_order;
  made.seconds = 120;
  return made;
}

class Kept {
 public:
  explicit Kept(std::uint64_t most = kPlenty, std::vector<router::ArtifactStore> stores = {})
      : directory(directory_.path(), {most}, std::move(stores)) {}

  std::string keep(Artifact runtime, std::size_t bytes = 100) {
    REQUIRE(directory.keep(runtime, recording(bytes), removed));
    return runtime.id;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Artifact& each : directory.all()) names.push_back(each.runtime.name);
    return names;
  }
  [[nodiscard]] std::string path() const { return directory_.path(); }

 private:
  auth::test::TemporaryDirectory directory_;

 public:
  Artifacts directory;
  std::size_t removed = 0;
};

using Names = std::vector<std::string>;

/// What a compressed file holds.
Result<std::string> content_of(std::shared_ptr<const UniqueFd> file) {
  router::CompressedFileReader reader(std::move(file));
  std::string content;
  for (;;) {
    ASSIGN_OR_RETURN(const auto piece, reader.next());
    if (piece.empty()) return content;
    content.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
}

}  // namespace

TEST_CASE("what is kept of a runtime that has ended is found again", "[artifacts]") {
  Kept kept;
  REQUIRE(kept.directory.begin_use());
  const std::string id = kept.keep(ended("orders", "2026-11-27T10:11:12Z"));
  kept.keep(ended("../bil ling", "2026-11-27T10:11:13Z"));
  CHECK(id.starts_with("20261127T101112Z-orders-7-"));
  const auto found = kept.directory.find(id);
  REQUIRE(found);
  CHECK(found->runtime.name == "orders");
  CHECK(found->runtime.kernel_pid == 8);
  CHECK(found->why == "exit code 134");
  CHECK(found->seconds == 120);
  const auto file = kept.directory.open(id);
  REQUIRE(file);
  CHECK(content_of(file->events)->size() == 100);
  CHECK(!file->content);
  CHECK(read_limited(file->events->get(), kPlenty)->size() == found->bytes);
  CHECK(kept.names() == Names{"orders", "../bil ling"});
  CHECK(kept.removed == 0);
}

TEST_CASE("what is large is kept small, and found whole", "[artifacts]") {
  Kept kept(40'000);
  std::string whole;
  for (int number = 0; number < 100; ++number)
    whole += std::string(9'000, static_cast<char>('a' + number % 7));
  Artifact first = ended("first", "2026-11-27T10:00:01Z");
  std::vector<CrashPart> parts{part(whole)};
  parts.front().held = 8'000;
  REQUIRE(kept.directory.keep(first, parts, kept.removed));
  CHECK(first.bytes < 40'000);
  CHECK(content_of(kept.directory.open(first.id)->events) == whole);
}

TEST_CASE("what takes far more on the disk than in memory is not kept", "[artifacts]") {
  Kept kept(10 * kPlenty);
  Artifact first = ended("first", "2026-11-27T10:00:01Z");
  std::vector<CrashPart> parts{part(noise(340'000))};
  parts.front().held = 100'000;
  const auto refused = kept.directory.keep(first, parts, kept.removed);
  REQUIRE(!refused);
  CHECK(refused.error().message().find("in memory") != std::string::npos);
  CHECK(entries_of(kept.path()).empty());
}

TEST_CASE("a file that is cut off or damaged is an error", "[artifacts]") {
  Kept kept;
  const std::string id = kept.keep(ended("orders", "2026-11-27T10:11:12Z"), 300'000);
  const std::string path = kept.path() + "/" + id + ".nettrace.zst";
  const auto why = [&] {
    const auto content = content_of(kept.directory.open(id)->events);
    return content ? "" : content.error().message();
  };
  CHECK(why().empty());
  std::fstream(path, std::ios::in | std::ios::out).seekp(150'000).put('x').put('y');
  CHECK(why().find("decompress") == std::string::npos);
  CHECK(!why().empty());
  for (const off_t size : {off_t{200'000}, off_t{0}}) {
    REQUIRE(::truncate(path.c_str(), size) == 0);
    CHECK(!why().empty());
  }
  CHECK(why().find("cut off") != std::string::npos);
  std::ofstream(path) << "no such file";
  CHECK(why().find("zstd") != std::string::npos);
}

TEST_CASE("recordings with names are kept, and go, with the recording", "[artifacts]") {
  Kept kept(40'000);
  Artifact first = ended("first", "2026-11-27T10:00:01Z");
  const std::vector<CrashPart> parts{part(noise(5'000)), part(noise(2'000), CrashPart::Kind::names),
                                     part(noise(1'000), CrashPart::Kind::names)};
  REQUIRE(kept.directory.keep(first, parts, kept.removed));
  auto opened = kept.directory.open(first.id);
  REQUIRE(opened);
  REQUIRE(opened->names.size() == 2);
  CHECK(!opened->samples);
  std::vector<std::size_t> sizes;
  for (const auto& file : {opened->events, opened->names[0], opened->names[1]})
    sizes.push_back(read_limited(file->get(), kPlenty)->size());
  CHECK(std::ranges::is_sorted(sizes, std::ranges::greater()));
  CHECK(sizes[0] + sizes[1] + sizes[2] == first.bytes);
  kept.keep(ended("second", "2026-11-27T10:00:02Z"), 20'000);
  CHECK(kept.removed == 1);
  CHECK(entries_of(kept.path()).size() == 2);
}

TEST_CASE("no id leads out of the directory", "[artifacts]") {
  Kept kept;
  std::ofstream(kept.path() + "/secret.json") << "{}";
  for (const char* id : {"", "..", "../x", "a/b", ".hidden", "a b", "secret"}) {
    CHECK(!kept.directory.find(id));
    CHECK(!kept.directory.open(id));
  }
  CHECK(kept.directory.find("nothing").error().cause == ENOENT);
  CHECK(kept.directory.all().empty());
}

TEST_CASE("where there is no room the oldest goes, and at first what has ended in order", "[artifacts]") {
  Kept kept(40'000);
  kept.keep(ended("first", "2026-11-27T10:00:01Z"), 8'000);
  kept.keep(ended("second", "2026-11-27T10:00:02Z", true), 8'000);
  CHECK(kept.removed == 0);
  kept.keep(ended("third", "2026-11-27T10:00:03Z"), 8'000);
  CHECK(kept.names() == Names{"first", "third"});
  kept.keep(ended("fourth", "2026-11-27T10:00:04Z"), 8'000);
  CHECK(kept.names() == Names{"third", "fourth"});
  // The newest stays, however large it is.
  kept.keep(ended("fifth", "2026-11-27T10:00:05Z"), 40'000);
  CHECK(kept.names() == Names{"fifth"});
  CHECK(kept.removed == 4);
}

TEST_CASE("no crash goes for a runtime that has ended in order", "[artifacts]") {
  Kept kept(40'000);
  kept.keep(ended("first", "2026-11-27T10:00:01Z"), 8'000);
  kept.keep(ended("second", "2026-11-27T10:00:02Z"), 8'000);
  Artifact third = ended("third", "2026-11-27T10:00:03Z", true);
  const auto refused = kept.directory.keep(third, recording(8'000), kept.removed);
  REQUIRE(!refused);
  CHECK(refused.error().message().find("room") != std::string::npos);
  CHECK(kept.names() == Names{"first", "second"});
  CHECK(kept.removed == 0);
}

TEST_CASE("what a killed agent has left behind goes first", "[artifacts]") {
  Kept kept(40'000);
  const auto leave = [&](const std::string& name, std::time_t when) {
    std::ofstream(kept.path() + "/" + name) << std::string(10'000, 'x');
    const utimbuf times{when, when};
    REQUIRE(::utime((kept.path() + "/" + name).c_str(), &times) == 0);
  };
  leave("20260101T000000Z-old-1-00000000.nettrace.zst", 1000);
  leave("20260101T000001Z-old-1-00000001.json", 1000);
  leave("20260101T000002Z-new-1-00000002.nettrace.zst", std::time(nullptr));
  std::ofstream(kept.path() + "/a note") << "not ours";
  const Names others{"session.nettrace.zst", "package.json", "20260101-orders.content.zst"};
  for (const std::string& each : others) leave(each, 1000);
  kept.keep(ended("first", "2026-11-27T10:00:01Z"), 6'000);
  CHECK(kept.names() == Names{"first"});
  CHECK(::access((kept.path() + "/20260101T000000Z-old-1-00000000.nettrace.zst").c_str(), F_OK) != 0);
  CHECK(::access((kept.path() + "/20260101T000002Z-new-1-00000002.nettrace.zst").c_str(), F_OK) == 0);
  CHECK(::access((kept.path() + "/a note").c_str(), F_OK) == 0);
  for (const std::string& each : others) CHECK(::access((kept.path() + "/" + each).c_str(), F_OK) == 0);
}

TEST_CASE("what a process says of itself is cut", "[artifacts]") {
  Kept kept;
  Artifact long_one = ended(std::string(5'000, 'n'), "2026-11-27T10:00:01Z");
  long_one.runtime.command_line = std::string(50'000, 'c');
  const auto found = kept.directory.find(kept.keep(long_one));
  REQUIRE(found);
  CHECK(found->runtime.name.size() <= 256);
  CHECK(found->runtime.command_line.size() <= 1024);
}

TEST_CASE("a directory where others may write is refused", "[artifacts]") {
  Kept kept;
  REQUIRE(::chmod(kept.path().c_str(), 0777) == 0);
  const auto checked = kept.directory.begin_use();
  REQUIRE(!checked);
  CHECK(checked.error().message().find("others") != std::string::npos);
  CHECK(!Artifacts("/nowhere/at/all", {kPlenty}).begin_use());
  CHECK(!Artifacts("/proc/self/stat", {kPlenty}).begin_use());
}

TEST_CASE("a directory is made where there is none, and taken from its group", "[artifacts]") {
  const auth::test::TemporaryDirectory place;
  const std::string path = place.path() + "/kept";
  for (const mode_t mode : {0700U, 02770U, 0775U}) {
    if (mode != 0700U) REQUIRE(::chmod(path.c_str(), mode) == 0);
    REQUIRE(Artifacts(path, {kPlenty}).begin_use());
    struct stat found {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    CHECK((found.st_mode & 0777U) == 0700U);
  }
}

TEST_CASE("the content of an artifact is kept as it comes", "[artifacts]") {
  auth::test::TemporaryDirectory place;
  const auto directory = std::make_shared<Artifacts>(place.path(), router::ArtifactLimits{kPlenty});
  REQUIRE(directory->begin_use());
  std::size_t removed = 0;
  Artifact wanted = ended("orders", "2026-11-27T10:11:12Z");
  wanted.kind = "trace";
  wanted.why = "";
  auto file = ArtifactFile::create(directory, wanted, {}, removed);
  REQUIRE(file);
  const std::string id = (*file)->artifact().id;
  CHECK(directory->find(id)->state == Artifact::State::under_way);
  const std::string content = noise(100'000);
  REQUIRE((*file)->append(bytes_of(content), removed));

  SECTION("whole") {
    REQUIRE((*file)->end());
    const auto found = directory->find(id);
    CHECK(found->state == Artifact::State::whole);
    CHECK(found->size == content.size());
    CHECK(found->sha256.size() == 64);
    CHECK(content_of(directory->open(id)->content) == content);
  }
  SECTION("whole, but for something") {
    REQUIRE((*file)->end({}, "types have no names"));
    const auto found = directory->find(id);
    CHECK(found->state == Artifact::State::whole);
    CHECK(found->gaps == "types have no names");
  }
  SECTION("cut, for a reason") {
    REQUIRE((*file)->end("the application ended"));
    const auto found = directory->find(id);
    CHECK(found->state == Artifact::State::cut);
    CHECK(found->why == "the application ended");
    CHECK(found->size == content.size());
    CHECK(content_of(directory->open(id)->content) == content);
  }
  SECTION("dropped in the middle") {
    file->reset();
    const auto found = directory->find(id);
    CHECK(found->state == Artifact::State::cut);
    CHECK(found->size == content.size());
  }
  SECTION("removed") {
    REQUIRE((*file)->end());
    REQUIRE(directory->remove(id));
    CHECK(!directory->find(id));
    CHECK(entries_of(place.path()).empty());
    CHECK(!directory->remove(id));
  }
}

TEST_CASE("what a killed agent was taking is listed as cut by the next one", "[artifacts]") {
  auth::test::TemporaryDirectory place;
  std::size_t removed = 0;
  std::string id;
  const std::string content = noise(300'000);
  const auto again = [&] {
    Artifacts next(place.path(), {kPlenty});
    REQUIRE(next.begin_use());
    return next.find(id);
  };
  auto first = std::make_shared<Artifacts>(place.path(), router::ArtifactLimits{kPlenty});
  REQUIRE(first->begin_use());
  auto file = ArtifactFile::create(first, ended("orders", "2026-11-27T10:11:12Z"), {}, removed);
  REQUIRE(file);
  id = (*file)->artifact().id;
  REQUIRE((*file)->append(bytes_of(content), removed));
  // Another agent lives, and may be taking it.
  CHECK(again()->state == Artifact::State::under_way);
  const auto copy = [&](const std::string& name) {
    std::ifstream from(place.path() + "/" + name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(from), {});
  };
  const std::string about = copy(id + ".json");
  const std::string so_far = copy(id + ".content.zst");
  file->reset();
  first.reset();
  // As the kill leaves it.
  std::ofstream(place.path() + "/" + id + ".json", std::ios::binary) << about;
  std::ofstream(place.path() + "/" + id + ".content.zst", std::ios::binary) << so_far;
  const auto found = again();
  CHECK(found->state == Artifact::State::cut);
  CHECK(found->why.find("agent") != std::string::npos);
  CHECK(found->sha256.empty());
  CompressedFileReader reader(Artifacts(place.path(), {kPlenty}).open(id)->content,
                              CompressedFileReader::CutOff::end);
  std::string read;
  for (;;) {
    const auto piece = reader.next();
    REQUIRE(piece);
    if (piece->empty()) break;
    read.append(reinterpret_cast<const char*>(piece->data()), piece->size());
  }
  CHECK(!read.empty());
  CHECK(content.starts_with(read));
}

TEST_CASE("the newest crash stays, whatever somebody keeps", "[artifacts]") {
  auth::test::TemporaryDirectory place;
  const auto directory = std::make_shared<Artifacts>(place.path(), router::ArtifactLimits{9 << 20});
  std::size_t removed = 0;
  for (const char* time : {"2026-11-27T10:00:01Z", "2026-11-27T10:00:02Z"}) {
    Artifact crash = ended("orders", time);
    REQUIRE(directory->keep(crash, recording(3 << 20), removed));
  }
  Artifact wanted = ended("orders", "2026-11-27T10:11:12Z");
  wanted.kind = "trace";
  auto file = ArtifactFile::create(directory, wanted, {}, removed);
  REQUIRE(file);
  Result<void> appended;
  for (int times = 0; appended && times < 20; ++times)
    appended = (*file)->append(bytes_of(noise(1 << 20)), removed);
  REQUIRE(!appended);
  CHECK(appended.error().message().find("half") != std::string::npos);
  CHECK(removed == 1);
  REQUIRE((*file)->end(appended.error().message()));
  const auto all = directory->all();
  REQUIRE(all.size() == 2);
  CHECK(all[0].time == "2026-11-27T10:00:02Z");
  CHECK(all[1].state == Artifact::State::cut);
  CHECK(all[0].bytes + all[1].bytes <= 9 << 20);
}

TEST_CASE("what is too old goes, but for the newest crash", "[artifacts]") {
  auth::test::TemporaryDirectory place;
  const Artifacts directory(place.path(), {kPlenty, std::chrono::hours(24)});
  std::size_t removed = 0;
  const auto keep = [&](const std::string& name, std::chrono::hours age) {
    Artifact crash = ended(name, router::utc_text(std::chrono::system_clock::now() - age));
    REQUIRE(directory.keep(crash, recording(), removed));
  };
  keep("first", std::chrono::hours(50));
  keep("second", std::chrono::hours(30));
  CHECK(directory.remove_old() == 1);
  keep("third", std::chrono::hours(2));
  CHECK(directory.remove_old() == 1);
  CHECK(directory.remove_old() == 0);
  CHECK(directory.all().size() == 1);
}

TEST_CASE("what waits for a store stays, and goes like others once the store has it", "[artifacts]") {
  const router::ArtifactStore crashes{"bucket", {std::string(router::kCrash)}};
  Kept kept(45'000, {crashes});
  const std::string first = kept.keep(ended("first", "2026-11-27T10:00:00Z"), 9000);
  const std::string second = kept.keep(ended("second", "2026-11-27T10:01:00Z"), 9000);
  Artifact third = ended("third", "2026-11-27T10:02:00Z");
  const Result<void> refused = kept.directory.keep(third, recording(9000), kept.removed);
  REQUIRE(!refused);
  CHECK(refused.error().message().find("2 of 2 are still to be sent to a store") != std::string::npos);
  CHECK(kept.names() == Names{"first", "second"});
  CHECK(kept.directory.waiting_for(crashes).size() == 2);

  REQUIRE(kept.directory.note_sent(first, "bucket"));
  CHECK(kept.directory.find(first)->sent_to == std::vector<std::string>{"bucket"});
  CHECK(kept.directory.waiting_for(crashes).front().id == second);
  CHECK(kept.directory.waiting_for({"another", {"dump"}}).empty());
  kept.keep(std::move(third), 9000);
  CHECK(kept.names() == Names{"second", "third"});
  CHECK(!kept.directory.note_sent(first, "bucket"));
}

TEST_CASE("one process at a time sends to a store", "[artifacts]") {
  const Kept kept;
  Result<UniqueFd> ours = kept.directory.lock_store("bucket");
  CHECK(ours);
  CHECK(!kept.directory.lock_store("bucket"));
  CHECK(kept.directory.lock_store("another"));
  ours->reset();
  CHECK(kept.directory.lock_store("bucket"));
  CHECK(kept.names().empty());
}

TEST_CASE("of what goes straight to a store there is only a description", "[artifacts]") {
  auth::test::TemporaryDirectory place;
  const router::ArtifactStore bucket{"bucket"};
  const auto directory = std::make_shared<Artifacts>(place.path(), router::ArtifactLimits{1 << 20},
                                                     std::vector<router::ArtifactStore>{bucket});
  std::size_t removed = 0;
  Artifact wanted = ended("orders", "2026-11-27T10:11:12Z");
  wanted.kind = "dump";
  wanted.why = "";
  auto file = ArtifactFile::create(directory, wanted, {}, removed);
  REQUIRE(file);
  const std::string id = (*file)->artifact().id;
  REQUIRE((*file)->go_straight_to("bucket", 205));
  // More than the directory may hold.
  const std::string content = noise(3 << 20);
  REQUIRE((*file)->append(bytes_of(content), removed));
  CHECK(directory->find(id)->state == Artifact::State::under_way);
  CHECK(directory->find(id)->only_in == "bucket");
  CHECK(directory->find(id)->stops_for == 205);

  SECTION("whole") {
    REQUIRE((*file)->end());
    const auto found = directory->find(id);
    CHECK(found->state == Artifact::State::whole);
    CHECK(found->size == content.size());
    CHECK(found->bytes == 0);
    CHECK(found->sha256.size() == 64);
    CHECK(!directory->open(id));
    // Its description is to be sent there, and nowhere else.
    CHECK(directory->waiting_for(bucket).size() == 1);
    CHECK(directory->waiting_for({"another"}).empty());
    CHECK(directory->remove(id));
    CHECK(directory->all().empty());
  }
  SECTION("cut") {
    REQUIRE((*file)->end("the store has refused it"));
    CHECK(directory->find(id)->state == Artifact::State::cut);
    CHECK(directory->waiting_for(bucket).empty());
  }
}

TEST_CASE("who makes room takes it first of the user who has most", "[artifacts]") {
  Kept kept(1 << 20);
  const auto of = [&](uid_t user, const std::string& name, const std::string& time) {
    Artifact crash = ended(name, time);
    crash.runtime.user = user;
    return kept.keep(crash, 100'000);
  };
  of(1000, "shop-old", "2026-11-27T10:00:00Z");
  of(1000, "shop", "2026-11-27T10:00:01Z");
  // More than there is room for.
  for (int number = 10; number < 40; ++number) of(2000, "flood", fmt::format("2026-11-27T11:00:{}Z", number));
  Names names = kept.names();
  CHECK(std::ranges::count(names, "shop") == 1);
  CHECK(std::ranges::count(names, "shop-old") == 1);
  CHECK(std::ranges::count(names, "flood") > 3);
  // The first user gets as much as the second.
  for (int number = 10; number < 40; ++number) of(1000, "more", fmt::format("2026-11-27T12:00:{}Z", number));
  names = kept.names();
  CHECK(std::ranges::count(names, "flood") >= 3);
  CHECK(std::ranges::count(names, "more") >= 3);
  CHECK(std::ranges::count(names, "shop") == 0);
}

TEST_CASE("the newest crash of another user stays, whatever somebody keeps", "[artifacts]") {
  Kept kept(400'000);
  Artifact large = ended("large", "2026-11-27T10:00:00Z");
  large.runtime.user = 1000;
  kept.keep(large, 250'000);
  for (int number = 10; number < 20; ++number) {
    Artifact small = ended("small", fmt::format("2026-11-27T11:00:{}Z", number));
    small.runtime.user = 2000;
    kept.keep(small, 50'000);
  }
  const Names names = kept.names();
  CHECK(std::ranges::count(names, "large") == 1);
  CHECK(std::ranges::count(names, "small") >= 1);
}

TEST_CASE("what somebody may not remove does not go for what they keep", "[artifacts]") {
  Kept kept(400'000);
  const std::string theirs = kept.keep(ended("theirs", "2026-11-27T10:00:00Z"), 100'000);
  const std::string own = kept.keep(ended("own", "2026-11-27T10:00:01Z"), 100'000);
  kept.keep(ended("newest", "2026-11-27T10:00:02Z"), 100'000);
  router::RoomFor whose;
  whose.may_go = std::make_shared<const router::ArtifactIds>(router::ArtifactIds{own});
  REQUIRE(kept.directory.make_room(150'000, whose, kept.removed));
  CHECK(kept.names() == Names{"theirs", "newest"});
  const auto refused = kept.directory.make_room(250'000, whose, kept.removed);
  REQUIRE(!refused);
  CHECK(refused.error().message().find("not yours to remove") != std::string::npos);
  CHECK(kept.names() == Names{"theirs", "newest"});
}

TEST_CASE("whether there is room is known before", "[artifacts]") {
  const Kept kept(40'000, {{"bucket"}});
  CHECK(kept.directory.check_room(1'000, {}));
  const auto half = kept.directory.check_room(20'001, {});
  REQUIRE(!half);
  CHECK(half.error().message().find("half") != std::string::npos);
}
