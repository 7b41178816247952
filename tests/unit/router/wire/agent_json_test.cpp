// What a mirror makes of JSON that no agent of ours writes.
#include <catch2/catch.hpp>

#include "router/wire/dump.hpp"
#include "router/wire/runtime.hpp"

using namespace farport::router;

namespace {

Runtime orders() {
  Runtime runtime;
  runtime.id = "id";
  runtime.pid = 4711;
  runtime.name = "orders";
  runtime.user = 1000;
  return runtime;
}

std::string with(const std::string& member, const std::string& value) {
  std::string text = to_json(orders());
  const std::size_t at = text.find("\"" + member + "\":") + member.size() + 3;
  return text.replace(at, text.find_first_of(",}", at) - at, value);
}

std::string why_not(const std::string& text) {
  const auto runtimes = runtimes_from_json(text);
  return runtimes ? std::string() : runtimes.error().why;
}

}  // namespace

TEST_CASE("a number that doesn't fit is an error, not another number") {
  CHECK(why_not("[" + with("pid", "4711") + "]").empty());
  for (const auto* pid : {"-1", "1.5", "true", "\"1\"", "1e300", "18446744073709551616"}) {
    CAPTURE(pid);
    CHECK_THAT(why_not("[" + with("pid", pid) + "]"), Catch::Contains("\"pid\" is no whole number"));
  }
  // As root's it would look otherwise.
  CHECK_THAT(why_not("[" + with("user", "4294967296") + "]"), Catch::Contains("\"user\""));
  CHECK_FALSE(dump_progress_from_json(R"({"phase":"writing","written":-1,"sent":0,"total":0})"));
  CHECK_FALSE(access_from_json(R"([{"command":"x","allowed":true,"runtime":{"name":"orders","pid":-1}}])")
                  .has_value());
  CHECK_FALSE(error_from_json(R"({"error":"why","hresult":4294967296})").hresult);
}

TEST_CASE("a text ends before a zero byte, which would end a placeholder's argument too") {
  const auto runtimes =
      runtimes_from_json("[" + with("command_line", R"("dotnet a\u0000TMPDIR=/x\u0000")") + "]");
  REQUIRE(runtimes.has_value());
  CHECK(runtimes->front().command_line == "dotnet a");
}

TEST_CASE("a container goes to the other side and back, and need not be there") {
  Runtime runtime = orders();
  CHECK(to_json(runtime).find("container") == std::string::npos);
  runtime.container = {std::string(64, 'a'), "web", "orders-7d4b9"};
  const auto back = runtimes_from_json("[" + to_json(runtime) + "]");
  REQUIRE(back.has_value());
  CHECK(back->front().container == runtime.container);
  runtime.container = {std::string(64, 'a'), std::string(1000, 'b'), ""};
  CHECK(runtimes_from_json("[" + to_json(runtime) + "]")->front().container.name.size() == 255);
  std::string text = to_json(orders());
  text.insert(1, R"("container":{"id":"","name":"web"},)");
  CHECK(runtimes_from_json("[" + text + "]")->front().container == farport::router::Container{});
}

TEST_CASE("what is no list is an error") {
  for (const std::string& text :
       {std::string("null"), std::string("{}"), "{\"x\":" + to_json(orders()) + "}"}) {
    CAPTURE(text);
    CHECK_THAT(why_not(text), Catch::Contains("it is no list"));
    CHECK_FALSE(access_from_json(text).has_value());
  }
}

TEST_CASE("an error says why at a length that can be shown") {
  const std::string much(1'000'000, 'x');
  CHECK(why_not("[\"" + much).size() < 1000);
  CHECK(event_from_json("{\"event\":\"" + much + "\"}").error().why.size() < 1000);
  CHECK(error_from_json(much).why.size() < 1000);
  CHECK(error_from_json("{\"error\":\"" + much + "\"}").why.size() < 5000);
}

TEST_CASE(
    "what the kernel knows of a process is read as it was written, and without what older agents lack") {
  ProcessCondition condition;
  condition.halt = Halt::stopped;
  condition.threads = 12;
  condition.memory = 5'000'000'000;
  const auto read = process_condition_from_json(to_json(condition));
  REQUIRE(read);
  CHECK(read->halt == Halt::stopped);
  CHECK(read->memory == 5'000'000'000);
  const auto older = process_condition_from_json(R"({"threads":12,"running":1,"in_disk":0,"cores":0.5})");
  REQUIRE(older);
  CHECK(older->memory == 0);
  CHECK_FALSE(
      process_condition_from_json(R"({"threads":12,"running":1,"in_disk":0,"cores":0.5,"memory":-1})"));
}

TEST_CASE(
    "a process with a thread that is always ready to run is busy, however little it gets of a processor") {
  ProcessCondition condition;
  condition.threads = 9;
  condition.cores = 0.06;
  CHECK_FALSE(condition.is_busy());
  condition.runnable = true;
  CHECK(condition.is_busy());
  const auto read = process_condition_from_json(to_json(condition));
  REQUIRE(read);
  CHECK(read->is_busy());
  condition.halt = Halt::stopped;
  CHECK_FALSE(condition.is_busy());
}

TEST_CASE("a dump is likely to have all that the process may write to, and a small one does not") {
  constexpr std::uint64_t kUsed = 1'000'000'000;
  constexpr std::uint64_t kOwn = 3'000'000'000;
  CHECK(likely_dump_size(farport::ipc::DumpType::with_heap, kUsed, kOwn) > kOwn);
  CHECK(likely_dump_size(farport::ipc::DumpType::full, kUsed, kOwn) >
        likely_dump_size(farport::ipc::DumpType::with_heap, kUsed, kOwn));
  CHECK(likely_dump_size(farport::ipc::DumpType::normal, kUsed, kOwn) < kUsed / 10);
  // Older agents don't tell what it may write to.
  CHECK(likely_dump_size(farport::ipc::DumpType::with_heap, kUsed, 0) > kUsed);
}
