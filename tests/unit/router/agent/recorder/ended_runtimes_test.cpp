#include "router/agent/recorder/ended_runtimes.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <random>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include <catch2/catch.hpp>

#include "base/files.hpp"
#include "router/agent/recorder/compressed_file.hpp"
#include "router/agent/recorder/process_end.hpp"
#include "tests/unit/auth/fixtures.hpp"
#include "tests/unit/nettrace/trace_writer.hpp"
#include "transport/child_process.hpp"

using namespace farport;
using namespace std::chrono_literals;
using router::EndedRuntime;
using router::EndedRuntimes;
using router::ProcessEnd;
using router::RecentBlocks;
using router::WatchedProcess;

namespace {

constexpr std::uint64_t kPlenty = 1 << 20;

/// A recording with one event of so many bytes, which can't be compressed.
router::RecentFile one_event(std::size_t bytes) {
  test::TraceWriter writer = test::TraceWriter::begun(4);
  const test::FieldWriter fields = test::definition_4(1, "Orders", 10, "Priced");
  writer.block(nettrace::BlockKind::metadata,
               test::event_block().u8(0xC0).var(0).var(fields.size()).bytes(fields.take()));
  test::FieldWriter event = test::event_block();
  event.u8(0x87).var(1).var(0).var(500).var(3).var(600).var(2'000).var(bytes);
  std::minstd_rand random;
  for (std::size_t at = 0; at < bytes; ++at) event.u8(random() >> 8 & 0xFF);
  writer.block(nettrace::BlockKind::events, event);
  RecentBlocks blocks(kPlenty);
  REQUIRE(blocks.take(writer.bytes(), RecentBlocks::Clock::time_point(1h)));
  return *blocks.file({});
}

router::RecentFiles recording(std::size_t bytes = 100) {
  return {one_event(bytes), {}};
}

EndedRuntime ended(std::string name, std::string time, bool in_order = false) {
  EndedRuntime made;
  made.runtime.id = "2cf9291d-e961-4c59-bf2c-2f0a0c1e6e11";
  made.runtime.name = std::move(name);
  made.runtime.pid = 7;
  made.runtime.kernel_pid = 8;
  made.ended = std::move(time);
  made.reason = "exit code 134";
  made.in_order = in_order;
  made.seconds = 120;
  return made;
}

class Kept {
 public:
  explicit Kept(std::uint64_t most = kPlenty) : directory(directory_.path(), most) {}

  std::string keep(EndedRuntime runtime, std::size_t bytes = 100) {
    REQUIRE(directory.keep(runtime, recording(bytes), removed));
    return runtime.id;
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const EndedRuntime& each : directory.all()) names.push_back(each.runtime.name);
    return names;
  }
  [[nodiscard]] std::string path() const { return directory_.path(); }

 private:
  auth::test::TemporaryDirectory directory_;

 public:
  EndedRuntimes directory;
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

TEST_CASE("what is kept of a runtime that has ended is found again", "[recorder]") {
  Kept kept;
  REQUIRE(kept.directory.check());
  const std::string id = kept.keep(ended("orders", "2026-11-27T10:11:12Z"));
  kept.keep(ended("../bil ling", "2026-11-27T10:11:13Z"));
  CHECK(id.starts_with("20261127T101112Z-orders-7-"));
  const auto found = kept.directory.find(id);
  REQUIRE(found);
  CHECK(found->runtime.name == "orders");
  CHECK(found->runtime.kernel_pid == 8);
  CHECK(found->reason == "exit code 134");
  CHECK(found->seconds == 120);
  const auto file = kept.directory.open(id);
  REQUIRE(file);
  const auto content = content_of(file->events);
  REQUIRE(content);
  CHECK(content->starts_with("Nettrace"));
  CHECK(content->back() == '\1');
  CHECK(read_limited(file->events->get(), kPlenty)->size() == found->bytes);
  CHECK(kept.names() == Names{"orders", "../bil ling"});
  CHECK(kept.removed == 0);
}

TEST_CASE("what is large is kept small, and found whole", "[recorder]") {
  Kept kept(40'000);
  test::TraceWriter writer = test::TraceWriter::begun(4);
  for (int number = 0; number < 100; ++number) {
    test::FieldWriter event = test::event_block();
    event.u8(0x87).var(1).var(0).var(500).var(3).var(600).var(2'000).var(9'000);
    for (int at = 0; at < 9'000; ++at) event.u8(number);
    writer.block(nettrace::BlockKind::events, event);
  }
  RecentBlocks blocks(kPlenty);
  REQUIRE(blocks.take(writer.bytes(), RecentBlocks::Clock::time_point(1h)));
  EndedRuntime first = ended("first", "2026-11-27T10:00:01Z");
  REQUIRE(kept.directory.keep(first, {*blocks.file({}), {}}, kept.removed));
  CHECK(first.bytes < 40'000);
  std::string whole;
  for (router::RecentFile file = *blocks.file({});;) {
    const auto piece = file.next();
    if (piece.empty()) break;
    whole.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  CHECK(whole.size() > 900'000);
  CHECK(content_of(kept.directory.open(first.id)->events) == whole);
}

TEST_CASE("what takes far more on the disk than in memory is not kept", "[recorder]") {
  Kept kept(10 * kPlenty);
  std::minstd_rand random;
  std::string noise(340'000, ' ');
  for (char& each : noise) each = static_cast<char>(random() >> 8 & 0xFF);
  test::TraceWriter writer = test::TraceWriter::begun(4);
  // In memory a block is compressed as a whole, which finds what repeats itself so far apart.
  test::FieldWriter event = test::event_block();
  event.u8(0x87).var(1).var(0).var(500).var(3).var(600).var(2'000).var(3 * noise.size());
  for (int times = 0; times < 3; ++times) {
    for (const char each : noise) event.u8(static_cast<unsigned char>(each));
  }
  writer.block(nettrace::BlockKind::events, event);
  // The next run has the first one compressed.
  writer.block(nettrace::BlockKind::sequence_point, test::event_block());
  RecentBlocks blocks(kPlenty);
  REQUIRE(blocks.take(writer.bytes(), RecentBlocks::Clock::time_point(1h)));
  REQUIRE(blocks.size() < kPlenty / 2);
  EndedRuntime first = ended("first", "2026-11-27T10:00:01Z");
  const auto refused = kept.directory.keep(first, {*blocks.file({}), {}}, kept.removed);
  REQUIRE(!refused);
  CHECK(refused.error().message().find("in memory") != std::string::npos);
  CHECK(entries_of(kept.path()).empty());
}

TEST_CASE("a file that is cut off or damaged is an error", "[recorder]") {
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

TEST_CASE("recordings with names are kept, and go, with the recording", "[recorder]") {
  Kept kept(40'000);
  EndedRuntime first = ended("first", "2026-11-27T10:00:01Z");
  const router::RecentFiles files{one_event(5'000), {}, {one_event(2'000), one_event(1'000)}};
  REQUIRE(kept.directory.keep(first, files, kept.removed));
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

TEST_CASE("no id leads out of the directory", "[recorder]") {
  Kept kept;
  std::ofstream(kept.path() + "/secret.json") << "{}";
  for (const char* id : {"", "..", "../x", "a/b", ".hidden", "a b", "secret"}) {
    CHECK(!kept.directory.find(id));
    CHECK(!kept.directory.open(id));
  }
  CHECK(kept.directory.find("nothing").error().cause == ENOENT);
  CHECK(kept.directory.all().empty());
}

TEST_CASE("where there is no room the oldest goes, and at first what has ended in order", "[recorder]") {
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

TEST_CASE("no crash goes for a runtime that has ended in order", "[recorder]") {
  Kept kept(40'000);
  kept.keep(ended("first", "2026-11-27T10:00:01Z"), 8'000);
  kept.keep(ended("second", "2026-11-27T10:00:02Z"), 8'000);
  EndedRuntime third = ended("third", "2026-11-27T10:00:03Z", true);
  const auto refused = kept.directory.keep(third, recording(8'000), kept.removed);
  REQUIRE(!refused);
  CHECK(refused.error().message().find("room") != std::string::npos);
  CHECK(kept.names() == Names{"first", "second"});
  CHECK(kept.removed == 0);
}

TEST_CASE("what a killed agent has left behind goes first", "[recorder]") {
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
  kept.keep(ended("first", "2026-11-27T10:00:01Z"), 6'000);
  CHECK(kept.names() == Names{"first"});
  CHECK(::access((kept.path() + "/20260101T000000Z-old-1-00000000.nettrace.zst").c_str(), F_OK) != 0);
  CHECK(::access((kept.path() + "/20260101T000002Z-new-1-00000002.nettrace.zst").c_str(), F_OK) == 0);
  CHECK(::access((kept.path() + "/a note").c_str(), F_OK) == 0);
}

TEST_CASE("what a process says of itself is cut", "[recorder]") {
  Kept kept;
  EndedRuntime long_one = ended(std::string(5'000, 'n'), "2026-11-27T10:00:01Z");
  long_one.runtime.command_line = std::string(50'000, 'c');
  const auto found = kept.directory.find(kept.keep(long_one));
  REQUIRE(found);
  CHECK(found->runtime.name.size() <= 256);
  CHECK(found->runtime.command_line.size() <= 1024);
}

TEST_CASE("a directory where others may write is refused", "[recorder]") {
  Kept kept;
  REQUIRE(::chmod(kept.path().c_str(), 0777) == 0);
  const auto checked = kept.directory.check();
  REQUIRE(!checked);
  CHECK(checked.error().message().find("others") != std::string::npos);
  CHECK(!EndedRuntimes("/nowhere", kPlenty).check());
  CHECK(!EndedRuntimes("/proc/self/stat", kPlenty).check());
}

TEST_CASE("how a process has ended is told in words", "[recorder]") {
  CHECK(ProcessEnd{0}.text() == "exit code 0");
  CHECK(ProcessEnd{3 << 8}.text() == "exit code 3");
  CHECK(ProcessEnd{SIGKILL}.text() == "killed by signal 9 (SIGKILL)");
  CHECK(ProcessEnd{SIGABRT | 0x80}.text() == "killed by signal 6 (SIGABRT)");
  CHECK(ProcessEnd{0}.in_order());
  CHECK(!ProcessEnd{3 << 8}.in_order());
}

TEST_CASE("a process is watched to its end", "[recorder]") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const WatchedProcess watch(child, transport::start_time_of(child));
  CHECK(watch.runs());
  CHECK(!watch.end());
  // Another process by that pid is not watched.
  CHECK(!WatchedProcess(child, 1).runs());
  CHECK(!WatchedProcess(0, 0).runs());
  REQUIRE(::kill(child, SIGKILL) == 0);
  // Nobody has asked yet how it ended.
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(watch.ended());
  const auto waiting = watch.end();
  REQUIRE(waiting);
  CHECK(waiting->text() == "killed by signal 9 (SIGKILL)");
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(!watch.runs());
  // Older kernels don't tell any more.
  if (const auto later = watch.end()) CHECK(later->text() == "killed by signal 9 (SIGKILL)");
}
