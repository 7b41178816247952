#include <catch2/catch.hpp>

#include "ipc/payload.hpp"
#include "tests/fake_runtime/answers.hpp"
#include "tests/unit/ipc/bytes.hpp"

using namespace farport::ipc;
using farport::test::check_truncated_at_every_byte;
using farport::test::hex;

namespace {

const std::string kCookie = "67453e12 9be8 d312 a456 426614174000";
const std::string kInfo = "0700000000000000" + kCookie +
                          "02000000 6100 0000"   // a
                          "02000000 6200 0000"   // b
                          "02000000 6300 0000";  // c
const std::string kInfo2 = kInfo +
                           "02000000 6400 0000"                         // d
                           "02000000 6500 0000";                        // e
const std::string kInfo3 = "01000000" + kInfo2 + "02000000 6600 0000";  // f

}  // namespace

TEST_CASE("the three answers about a process read into one structure", "[ipc]") {
  const auto [command, text] = GENERATE(table<Command, std::string>({
      {kProcessInfo, kInfo},
      {kProcessInfo2, kInfo2},
      {kProcessInfo3, kInfo3},
  }));
  const Bytes payload = hex(text);
  const auto decode = [asked = command](BytesView bytes) { return decode_process_info(asked, bytes); };
  check_truncated_at_every_byte(payload, decode);

  const ProcessInfo info = decode(payload).value();
  CHECK(info.pid == 7);
  CHECK(info.cookie.to_string() == "123e4567-e89b-12d3-a456-426614174000");
  CHECK(info.command_line == "a");
  CHECK(info.os == "b");
  CHECK(info.architecture == "c");
  CHECK(info.entry_assembly == (command == kProcessInfo ? "" : "d"));
  CHECK(info.clr_version == (command == kProcessInfo ? "" : "e"));
  CHECK(info.runtime_identifier == (command == kProcessInfo3 ? "f" : ""));
  CHECK(encode_process_info(command, info) == payload);
}

TEST_CASE("no other command answers with process information", "[ipc]") {
  CHECK_FALSE(decode_process_info(kResumeRuntime, hex(kInfo)).has_value());
}

TEST_CASE("SetEnvironmentVariable sets, empties or removes", "[ipc]") {
  const Bytes set = hex("02000000 4100 0000  02000000 3100 0000");
  check_truncated_at_every_byte(set, SetEnvironmentVariable::decode, false);
  CHECK(SetEnvironmentVariable::decode(set).value().name == "A");
  CHECK(SetEnvironmentVariable::decode(set).value().value == "1");
  CHECK(SetEnvironmentVariable{"A", "1"}.encode() == set);

  const Bytes emptied = hex("02000000 4100 0000  01000000 0000");
  CHECK(SetEnvironmentVariable::decode(emptied).value().value == "");
  CHECK(SetEnvironmentVariable{"A", ""}.encode() == emptied);

  const Bytes removed = hex("02000000 4100 0000  00000000");
  CHECK(SetEnvironmentVariable::decode(removed).value().value == std::nullopt);
  CHECK(SetEnvironmentVariable{"A", std::nullopt}.encode() == removed);
}

TEST_CASE("EnablePerfMap has one of three types", "[ipc]") {
  const Bytes payload = hex("02000000");
  check_truncated_at_every_byte(payload, EnablePerfMap::decode, false);
  CHECK(EnablePerfMap::decode(payload).value().type == PerfMapType::jit_dump);
  CHECK(EnablePerfMap{PerfMapType::jit_dump}.encode() == payload);
  CHECK_FALSE(EnablePerfMap::decode(hex("00000000")).has_value());
  CHECK_FALSE(EnablePerfMap::decode(hex("04000000")).has_value());
}

TEST_CASE("ApplyStartupHook names an assembly", "[ipc]") {
  const Bytes payload = hex("03000000 2F00 6800 0000");
  check_truncated_at_every_byte(payload, ApplyStartupHook::decode, false);
  CHECK(ApplyStartupHook::decode(payload).value().path == "/h");
  CHECK(ApplyStartupHook{"/h"}.encode() == payload);
}

TEST_CASE("ProcessEnvironment answers a size, then the environment", "[ipc]") {
  const Bytes answer = hex("0A000000 0000");
  check_truncated_at_every_byte(answer, EnvironmentAnswer::decode);
  CHECK(EnvironmentAnswer::decode(answer).value().size == 10);
  CHECK(EnvironmentAnswer{10}.encode() == answer);

  const Bytes environment = hex("02000000  04000000 4100 3D00 3100 0000  01000000 0000");
  check_truncated_at_every_byte(environment, decode_environment);
  CHECK(decode_environment(environment).value() == std::vector<std::string>{"A=1", ""});
  CHECK(encode_environment({"A=1", ""}) == environment);
  CHECK_FALSE(decode_environment(hex("FFFFFFFF 01000000 0000")).has_value());
}

TEST_CASE("GenerateCoreDump has a path, a type and flags", "[ipc]") {
  const Bytes payload = hex("03000000 2F00 6400 0000 04000000 05000000");
  check_truncated_at_every_byte(payload, GenerateCoreDump::decode);
  const GenerateCoreDump command = GenerateCoreDump::decode(payload).value();
  CHECK(command.path == "/d");
  CHECK(command.type == DumpType::full);
  CHECK(command.flags == (dump_flag::kLogging | dump_flag::kCrashReport));
  CHECK(command.encode() == payload);
  CHECK_FALSE(GenerateCoreDump::decode(hex("00000000 00000000 00000000")).has_value());
  CHECK_FALSE(GenerateCoreDump::decode(hex("00000000 05000000 00000000")).has_value());
}

TEST_CASE("AttachProfiler carries data for the profiler", "[ipc]") {
  const Bytes payload = hex("88130000" + kCookie + "03000000 2F00 7000 0000 03000000 010203");
  check_truncated_at_every_byte(payload, AttachProfiler::decode, false);
  const AttachProfiler command = AttachProfiler::decode(payload).value();
  CHECK(command.timeout_ms == 5000);
  CHECK(command.profiler.to_string() == "123e4567-e89b-12d3-a456-426614174000");
  CHECK(command.path == "/p");
  CHECK(command.client_data == hex("010203"));
  CHECK(command.encode() == payload);
}

TEST_CASE("StartupProfiler names a profiler", "[ipc]") {
  const Bytes payload = hex(kCookie + "03000000 2F00 7000 0000");
  check_truncated_at_every_byte(payload, StartupProfiler::decode, false);
  const StartupProfiler command = StartupProfiler::decode(payload).value();
  CHECK(command.path == "/p");
  CHECK(command.encode() == payload);
}
