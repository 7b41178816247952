#include "ipc/payload.hpp"

#include "ipc/dump.hpp"
#include "ipc/event_pipe.hpp"
#include "ipc/process.hpp"
#include "ipc/profiler.hpp"

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

}  // namespace farport::ipc
