// Whether a runtime can be dumped, by what the kernel and its files say.
#include "router/agent/doctor/dump_check.hpp"

#include <cerrno>

#include <catch2/catch.hpp>

using namespace farport;
using namespace farport::router;
using Level = Finding::Level;
using State = Createdump::State;

namespace {

DumpFacts good() {
  DumpFacts facts;
  facts.createdump = {State::there, "/usr/share/dotnet/createdump", {}};
  facts.directory = "/tmp";
  return facts;
}

Finding judged(const DumpFacts& facts) {
  return judge_dump(facts, "orders").finding;
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

TEST_CASE("why a createdump can't be seen is said", "[doctor]") {
  DumpFacts facts = good();
  facts.createdump = {State::unknown, {}, "its user is another one"};
  CHECK(judged(facts).level == Level::warning);
  CHECK_THAT(judged(facts).text, Catch::Contains("its user is another one"));
}

TEST_CASE("a summary names no place", "[doctor]") {
  DumpFacts facts = good();
  facts.createdump.state = State::missing;
  CHECK(judge_dump(facts, "orders").summary == "can't be dumped: there is no createdump");
}

TEST_CASE("a runtime that is part of its program writes full dumps only", "[doctor]") {
  DumpFacts facts = good();
  facts.createdump = {State::inside, {}, {}};
  CHECK(judged(facts).level == Level::warning);
  CHECK_THAT(judged(facts).text, Catch::Contains("--type full alone"));
}

TEST_CASE("an application that would not live through its dump is told of, with what fits", "[doctor]") {
  DumpFacts facts = good();
  facts.too_large =
      Error{"take a dump of", "orders", "60 MiB of memory are left", "--type mini takes 16 MiB"};
  CHECK(judged(facts).level == Level::warning);
  CHECK_THAT(judged(facts).text, Catch::Contains("with its heap: 60 MiB"));
  CHECK(judged(facts).hint == "--type mini takes 16 MiB");
  facts.no_memory = facts.too_large;
  CHECK(judged(facts).level == Level::problem);
}
