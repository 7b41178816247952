// Whether a runtime can be dumped, by what the kernel and its files say.
#include "router/agent/doctor/dump_check.hpp"

#include <cerrno>

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;
using Level = Finding::Level;
using State = CreatedumpFile::State;

namespace {

DumpFacts good() {
  DumpFacts facts;
  facts.createdump = {State::there, "/usr/share/dotnet/createdump"};
  facts.directory = "/tmp";
  return facts;
}

Finding judged(const DumpFacts& facts, OwnConfinement own = {}) {
  return judge_dump(facts, "orders", own).finding;
}

}  // namespace

TEST_CASE("a runtime with createdump and a place for its dump can be dumped", "[doctor]") {
  CHECK(judged(good()).level == Level::ok);
  CHECK(judged(good()).text == "orders can be dumped, into /tmp");
}

TEST_CASE("without createdump a runtime can't be dumped", "[doctor]") {
  DumpFacts facts = good();
  facts.createdump.state = State::missing;
  CHECK(judged(facts).level == Level::problem);
  CHECK_THAT(judged(facts).text, Catch::Contains("/usr/share/dotnet/createdump"));
  facts.createdump.state = State::not_executable;
  CHECK(judged(facts).level == Level::problem);
}

TEST_CASE("each scope of Yama counts as createdump meets it", "[doctor]") {
  DumpFacts facts = good();
  facts.ptrace_scope = 1;
  CHECK(judged(facts).level == Level::ok);
  facts.ptrace_scope = 2;
  CHECK(judged(facts).level == Level::problem);
  facts.may_trace = true;
  CHECK(judged(facts).level == Level::ok);
  facts.ptrace_scope = 3;
  CHECK(judged(facts).level == Level::problem);
}

TEST_CASE("a process that isn't dumpable can't be dumped without CAP_SYS_PTRACE", "[doctor]") {
  DumpFacts facts = good();
  facts.dumpable = false;
  CHECK(judged(facts).level == Level::problem);
  facts.may_trace = true;
  CHECK(judged(facts).level == Level::ok);
}

TEST_CASE("a place that can't take a dump is named first, with what to do", "[doctor]") {
  DumpFacts facts = good();
  facts.no_directory =
      Error{"make a directory for the dump in", "/diag", "Permission denied", "chmod it", Cause(EACCES)};
  CHECK(judged(facts).level == Level::problem);
  CHECK_THAT(judged(facts).text, Catch::Contains("/diag: Permission denied"));
  CHECK(judged(facts).hint == "chmod it");
}

TEST_CASE("what the agent's own confinement hides is said to be hidden by it", "[doctor]") {
  DumpFacts facts = good();
  facts.createdump = {};
  facts.closed = Error{"look into", "process 7", "somebody forbids it", {}, Cause(EACCES)};
  CHECK(judged(facts, {true, true}).level == Level::warning);
  CHECK_THAT(judged(facts, {true, true}).text, Catch::Contains("own confinement (Landlock)"));
  CHECK_THAT(judged(facts).text, Catch::Contains("somebody forbids it"));
}

TEST_CASE("a summary names no place", "[doctor]") {
  DumpFacts facts = good();
  facts.createdump.state = State::missing;
  CHECK(judge_dump(facts, "orders", {}).summary == "can't be dumped: there is no createdump");
}

TEST_CASE("the runtime's library is found in a memory map", "[doctor]") {
  CHECK(coreclr_directory_in("7f-80 r-xp 0 08:01 7  /usr/share/dot net/10.0/libcoreclr.so\n") ==
        "/usr/share/dot net/10.0");
  CHECK(coreclr_directory_in("7f-80 r-xp 0 08:01 7  /a/libother.so\n7f-80 r 0 08:01 7 /b/libcoreclr.so") ==
        "/b");
  CHECK_FALSE(coreclr_directory_in("7f-80 r-xp 0 08:01 7  /a/libcoreclr.so.dbg\n7f-80 rw-p 0 00:00 0\n"));
  CHECK_FALSE(coreclr_directory_in(""));
}
