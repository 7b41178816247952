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

}  // namespace

Result<void> check_payload(Command command, BytesView payload) {
  if (is_collect_tracing(command)) return outcome_of(CollectTracing::decode(command, payload));
  if (is_core_dump(command)) return outcome_of(GenerateCoreDump::decode(payload));
  if (command == kStopTracing) return outcome_of(SessionId::decode(payload));
  if (command == kSetEnvironmentVariable) return outcome_of(SetEnvironmentVariable::decode(payload));
  if (command == kEnablePerfMap) return outcome_of(EnablePerfMap::decode(payload));
  if (command == kApplyStartupHook) return outcome_of(ApplyStartupHook::decode(payload));
  if (command == kAttachProfiler) return outcome_of(AttachProfiler::decode(payload));
  if (command == kStartupProfiler) return outcome_of(StartupProfiler::decode(payload));
  return {};
}

}  // namespace farport::ipc
