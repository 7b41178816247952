#include "ipc/payload.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ipc/event_pipe.hpp"

namespace farport::ipc {
namespace {

template <typename Decoded>
Result<void> outcome_of(const Result<Decoded>& decoded) {
  if (!decoded) return tl::unexpected(decoded.error());
  return {};
}

bool has_no_payload(Command command) {
  return command == kProcessInfo || command == kProcessInfo2 || command == kProcessInfo3 ||
         command == kResumeRuntime || command == kProcessEnvironment || command == kDisablePerfMap;
}

}  // namespace

Result<void> check_payload(Command command, BytesView payload) {
  if (has_no_payload(command)) {
    Reader in(payload, name_of(command));
    return outcome_of(in.whole_result(true));
  }
  if (is_collect_tracing(command)) return outcome_of(CollectTracing::decode(command, payload));
  if (is_core_dump(command)) return outcome_of(GenerateCoreDump::decode(payload));
  if (command == kStopTracing) {
    Reader in(payload, "StopTracing");
    const std::uint64_t session = in.u64();
    return outcome_of(in.whole_result(session));
  }
  if (command == kSetEnvironmentVariable) return outcome_of(SetEnvironmentVariable::decode(payload));
  if (command == kEnablePerfMap) return outcome_of(EnablePerfMap::decode(payload));
  if (command == kApplyStartupHook) return outcome_of(ApplyStartupHook::decode(payload));
  if (command == kAttachProfiler) return outcome_of(AttachProfiler::decode(payload));
  if (command == kStartupProfiler) return outcome_of(StartupProfiler::decode(payload));
  return {};
}

namespace {

constexpr std::array<std::pair<DumpType, std::string_view>, 4> kTypes{{
    {DumpType::normal, "mini"},
    {DumpType::with_heap, "heap"},
    {DumpType::triage, "triage"},
    {DumpType::full, "full"},
}};

}  // namespace

std::string_view name_of(DumpType type) {
  return kTypes[static_cast<std::size_t>(type) - 1].second;
}

std::optional<DumpType> dump_type_named(std::string_view name) {
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& t) { return t.second == name; });
  if (found == kTypes.end()) return std::nullopt;
  return found->first;
}

bool is_core_dump(Command command) {
  return command == kGenerateCoreDump || command == kGenerateCoreDump2 || command == kGenerateCoreDump3;
}

Result<GenerateCoreDump> GenerateCoreDump::decode(BytesView payload) {
  Reader in(payload, "GenerateCoreDump");
  GenerateCoreDump command;
  command.path = in.string();
  const std::uint32_t type = in.u32();
  if (type < 1 || type > 4) in.reject("unknown type of dump " + std::to_string(type));
  command.type = static_cast<DumpType>(type);
  command.flags = in.u32();
  return in.result(std::move(command));
}

Bytes GenerateCoreDump::encode() const {
  Writer out;
  out.string(path);
  out.u32(static_cast<std::uint32_t>(type));
  out.u32(flags);
  return out.take();
}

Result<AttachProfiler> AttachProfiler::decode(BytesView payload) {
  Reader in(payload, "AttachProfiler");
  AttachProfiler command;
  command.timeout_ms = in.u32();
  command.profiler = in.guid();
  command.path = in.string();
  command.client_data = in.byte_array();
  return in.whole_result(std::move(command));
}

Bytes AttachProfiler::encode() const {
  Writer out;
  out.u32(timeout_ms);
  out.guid(profiler);
  out.string(path);
  out.count(client_data.size());
  out.bytes(client_data);
  return out.take();
}

Result<StartupProfiler> StartupProfiler::decode(BytesView payload) {
  Reader in(payload, "StartupProfiler");
  StartupProfiler command;
  command.profiler = in.guid();
  command.path = in.string();
  return in.whole_result(std::move(command));
}

Bytes StartupProfiler::encode() const {
  Writer out;
  out.guid(profiler);
  out.string(path);
  return out.take();
}

Result<SetEnvironmentVariable> SetEnvironmentVariable::decode(BytesView payload) {
  Reader in(payload, "SetEnvironmentVariable");
  SetEnvironmentVariable command;
  command.name = in.string();
  command.value = in.optional_string();
  return in.whole_result(std::move(command));
}

Bytes SetEnvironmentVariable::encode() const {
  Writer out;
  out.string(name);
  out.optional_string(value);
  return out.take();
}

Result<EnablePerfMap> EnablePerfMap::decode(BytesView payload) {
  Reader in(payload, "EnablePerfMap");
  const std::uint32_t type = in.u32();
  if (type < 1 || type > 3) in.reject("unknown type of map " + std::to_string(type));
  return in.whole_result(EnablePerfMap{static_cast<PerfMapType>(type)});
}

Bytes EnablePerfMap::encode() const {
  Writer out;
  out.u32(static_cast<std::uint32_t>(type));
  return out.take();
}

Result<ApplyStartupHook> ApplyStartupHook::decode(BytesView payload) {
  Reader in(payload, "ApplyStartupHook");
  ApplyStartupHook command;
  command.path = in.string();
  return in.whole_result(std::move(command));
}

Bytes ApplyStartupHook::encode() const {
  Writer out;
  out.string(path);
  return out.take();
}

Result<EnvironmentAnswer> EnvironmentAnswer::decode(BytesView payload) {
  Reader in(payload, "the answer to ProcessEnvironment");
  EnvironmentAnswer answer;
  answer.size = in.u32();
  in.u16();  // Reserved.
  return in.result(answer);
}

Bytes EnvironmentAnswer::encode() const {
  Writer out;
  out.u32(size);
  out.u16(0);
  return out.take();
}

Result<std::vector<std::string>> decode_environment(BytesView continuation) {
  Reader in(continuation, "the environment");
  std::vector<std::string> variables(in.count(sizeof(std::uint32_t)));
  for (std::string& variable : variables) variable = in.string();
  return in.result(std::move(variables));
}

Result<ProcessInfo> decode_process_info(Command command, BytesView payload) {
  if (command != kProcessInfo && command != kProcessInfo2 && command != kProcessInfo3) {
    return fail("decode", describe(command), "its answer holds no process information");
  }
  const std::string name = "the answer to " + describe(command);
  Reader in(payload, name);
  ProcessInfo info;
  if (command == kProcessInfo3) in.u32();
  info.pid = in.u64();
  info.cookie = in.guid();
  info.command_line = in.string();
  info.os = in.string();
  info.architecture = in.string();
  if (command != kProcessInfo) {
    info.entry_assembly = in.string();
    info.clr_version = in.string();
  }
  if (command == kProcessInfo3) info.runtime_identifier = in.string();
  return in.result(std::move(info));
}

}  // namespace farport::ipc
