#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "ipc/event_pipe.hpp"
#include "ipc/payload.hpp"
#include "router/agent/gate/admission.hpp"

using namespace farport;
using nlohmann::json;
using router::audit_arguments;

namespace {

const std::string kSecret = "hunter2-swordfish";

json parsed(ipc::Command command, const ipc::Bytes& payload) {
  return json::parse(audit_arguments(command, payload));
}

ipc::CollectTracing session(ipc::Command version) {
  ipc::CollectTracing session;
  session.version = version;
  ipc::Provider secretive;
  secretive.keywords = 0x2a;
  secretive.level = 5;
  secretive.name = "Orders";
  secretive.filter = "Key=" + kSecret;
  ipc::Provider plain;
  plain.keywords = 0xFFFFFFFFFFFFFFFF;
  plain.level = 4;
  plain.name = "System.Runtime";
  session.providers = {secretive, plain};
  return session;
}

/// Every beginning of a payload: what is said of it is JSON, and holds nothing of the secret.
void check_every_beginning(ipc::Command command, const ipc::Bytes& payload) {
  for (std::size_t size = 0; size <= payload.size(); ++size) {
    const ipc::Bytes part(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string text = audit_arguments(command, part);
    INFO(ipc::describe(command) << ", " << size << " bytes: " << text);
    REQUIRE(text.find("hunter") == std::string::npos);
    REQUIRE(text.find("swordfish") == std::string::npos);
    REQUIRE(json::parse(text).is_object());
  }
}

}  // namespace

TEST_CASE("a session's providers are told, and never their filters", "[router]") {
  for (const ipc::NamedCommand& named : ipc::all_commands()) {
    if (!ipc::is_collect_tracing(named.command)) continue;
    const ipc::CollectTracing trace = session(named.command);
    const json told = parsed(named.command, trace.encode());
    CHECK(told["providers"] == json::array({"Orders:0x2a:5", "System.Runtime:0xffffffffffffffff:4"}));
    CHECK(told["rundown"].is_boolean());
    CHECK_FALSE(told.contains("blocking"));
    check_every_beginning(named.command, trace.encode());
  }
}

TEST_CASE("a blocking session and one with a file descriptor are told as such", "[router]") {
  ipc::CollectTracing trace = session(ipc::kCollectTracing6);
  trace.buffer_mode = ipc::BufferMode::block;
  CHECK(parsed(ipc::kCollectTracing6, trace.encode())["blocking"] == true);
  trace.session_type = ipc::SessionType::user_events;
  CHECK(parsed(ipc::kCollectTracing6, trace.encode())["user_events"] == true);
}

TEST_CASE("a variable's name is told, and never its value", "[router]") {
  const ipc::Bytes set = ipc::SetEnvironmentVariable{"PASSWORD", kSecret}.encode();
  CHECK(parsed(ipc::kSetEnvironmentVariable, set) == json({{"variable", "PASSWORD"}, {"removed", false}}));
  check_every_beginning(ipc::kSetEnvironmentVariable, set);
  const ipc::Bytes removed = ipc::SetEnvironmentVariable{"PASSWORD", std::nullopt}.encode();
  CHECK(parsed(ipc::kSetEnvironmentVariable, removed) == json({{"variable", "PASSWORD"}, {"removed", true}}));
}

TEST_CASE("a profiler's data for itself is not told", "[router]") {
  ipc::AttachProfiler profiler;
  profiler.path = "/opt/profiler.so";
  for (const char c : kSecret) profiler.client_data.push_back(static_cast<std::byte>(c));
  const json told = parsed(ipc::kAttachProfiler, profiler.encode());
  CHECK(told["path"] == "/opt/profiler.so");
  CHECK(told["profiler"] == "00000000-0000-0000-0000-000000000000");
  CHECK(told.size() == 2);
  check_every_beginning(ipc::kAttachProfiler, profiler.encode());
  const ipc::StartupProfiler startup{profiler.profiler, "/opt/profiler.so"};
  CHECK(parsed(ipc::kStartupProfiler, startup.encode())["path"] == "/opt/profiler.so");
}

TEST_CASE("other arguments that the audit has of a command", "[router]") {
  CHECK(parsed(ipc::kGenerateCoreDump2, ipc::GenerateCoreDump{"/tmp/x", ipc::DumpType::full, 4}.encode()) ==
        json({{"path", "/tmp/x"}, {"type", "full"}, {"flags", 4}}));
  CHECK(parsed(ipc::kStopTracing, ipc::SessionId{0x123456789ABCDEF0}.encode())["session"] ==
        "0x123456789abcdef0");
  CHECK(parsed(ipc::kEnablePerfMap, ipc::EnablePerfMap{ipc::PerfMapType::perf_map}.encode())["type"] == 3);
  CHECK(parsed(ipc::kApplyStartupHook, ipc::ApplyStartupHook{"/opt/hook.dll"}.encode())["path"] ==
        "/opt/hook.dll");
}

TEST_CASE("commands without telling arguments have none", "[router]") {
  for (const ipc::Command command :
       {ipc::kProcessInfo, ipc::kProcessInfo3, ipc::kResumeRuntime, ipc::kProcessEnvironment,
        ipc::kDisablePerfMap, ipc::Command{0x04, 0x7E}}) {
    CHECK(audit_arguments(command, {}).empty());
    CHECK(audit_arguments(command, ipc::SetEnvironmentVariable{"A", kSecret}.encode()).empty());
  }
}

TEST_CASE("a payload that doesn't fit its command is audited as unreadable", "[router]") {
  for (const ipc::Command command :
       {ipc::kCollectTracing, ipc::kCollectTracing6, ipc::kGenerateCoreDump3, ipc::kStopTracing,
        ipc::kAttachProfiler, ipc::kStartupProfiler, ipc::kSetEnvironmentVariable, ipc::kEnablePerfMap,
        ipc::kApplyStartupHook}) {
    INFO(ipc::describe(command));
    const json told = parsed(command, {});
    CHECK(told.size() == 1);
    CHECK_FALSE(told["unreadable"].get<std::string>().empty());
  }
}

TEST_CASE("names in arguments can't control a terminal or end the line", "[router]") {
  const std::string text = audit_arguments(
      ipc::kSetEnvironmentVariable, ipc::SetEnvironmentVariable{"A\n\x1b[2J\"é", std::nullopt}.encode());
  for (const char c : text) CHECK((c >= ' ' && c <= '~'));
  CHECK(json::parse(text)["variable"] == "A\n\x1b[2J\"é");
}
