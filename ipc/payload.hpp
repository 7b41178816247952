// What commands and their answers carry: of the Dump, Profiler and Process command sets, and in general.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/commands.hpp"
#include "ipc/wire.hpp"

namespace farport::ipc {

/// Whether a payload is one of this command, so that a runtime can read it. Fails with what is wrong with it.
/// Commands without a payload, and unknown ones, take any.
[[nodiscard]] Result<void> check_payload(Command command, BytesView payload);

// Payload of the Dump command set.

enum class DumpType : std::uint32_t { normal = 1, with_heap = 2, triage = 3, full = 4 };

/// The name that dotnet-dump has for it: "mini", "heap", "triage", "full".
[[nodiscard]] std::string_view name_of(DumpType type);
/// The type of that name.
[[nodiscard]] std::optional<DumpType> dump_type_named(std::string_view name);

/// Whether `command` is one of the three that write a dump.
[[nodiscard]] bool is_core_dump(Command command);

/// Flags of a dump. GenerateCoreDump, the oldest, knows only the first.
namespace dump_flag {
inline constexpr std::uint32_t kLogging = 1;
inline constexpr std::uint32_t kVerboseLogging = 2;
inline constexpr std::uint32_t kCrashReport = 4;
}  // namespace dump_flag

/// GenerateCoreDump, 2 and 3: one layout. The answer is a mere HRESULT, once the dump is written.
struct GenerateCoreDump {
  std::string path;  ///< In the runtime's file system.
  DumpType type = DumpType::normal;
  std::uint32_t flags = 0;

  /// Fails for an unknown type.
  [[nodiscard]] static Result<GenerateCoreDump> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

// Payloads of the Profiler command set.

/// AttachProfiler: loads a profiler into a running runtime.
struct AttachProfiler {
  std::uint32_t timeout_ms = 0;
  Guid profiler;
  std::string path;   ///< Of the library, in the runtime's file system.
  Bytes client_data;  ///< Given to the profiler as it is.

  [[nodiscard]] static Result<AttachProfiler> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

/// StartupProfiler: loads one before a suspended runtime starts.
struct StartupProfiler {
  Guid profiler;
  std::string path;  ///< As above.

  [[nodiscard]] static Result<StartupProfiler> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

// Payloads of the Process command set. ProcessInfo (all three), ResumeRuntime, ProcessEnvironment and
// DisablePerfMap are sent without one; what the first answer is, see ProcessInfo below.

/// SetEnvironmentVariable: sets a variable in the runtime's process, or removes it.
struct SetEnvironmentVariable {
  std::string name;
  std::optional<std::string> value;  ///< Absent: the variable is removed.

  [[nodiscard]] static Result<SetEnvironmentVariable> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

enum class PerfMapType : std::uint32_t { all = 1, jit_dump = 2, perf_map = 3 };

/// EnablePerfMap: has the runtime write the maps that Linux perf reads.
struct EnablePerfMap {
  PerfMapType type = PerfMapType::all;

  /// Fails for an unknown type.
  [[nodiscard]] static Result<EnablePerfMap> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

/// ApplyStartupHook: runs a managed assembly's hook in the runtime.
struct ApplyStartupHook {
  std::string path;  ///< Of the assembly, in the runtime's file system.

  [[nodiscard]] static Result<ApplyStartupHook> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

/// The OK answer to ProcessEnvironment; the environment itself follows as the continuation.
struct EnvironmentAnswer {
  std::uint32_t size = 0;  ///< Of the continuation, in bytes.

  [[nodiscard]] static Result<EnvironmentAnswer> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

/// The continuation of ProcessEnvironment: "NAME=value" each.
[[nodiscard]] Result<std::vector<std::string>> decode_environment(BytesView continuation);
[[nodiscard]] Bytes encode_environment(const std::vector<std::string>& variables);

// What a runtime says of itself: the answers to ProcessInfo, ProcessInfo2 and ProcessInfo3, as one structure.

struct ProcessInfo {
  std::uint64_t pid = 0;  ///< In the runtime's own pid namespace.
  Guid cookie;
  std::string command_line;
  std::string os;                  ///< "Linux", "Windows", "macOS".
  std::string architecture;        ///< "x64", "arm64".
  std::string entry_assembly;      ///< Empty where only ProcessInfo was answered.
  std::string clr_version;         ///< The product version: "10.0.0"; empty as above.
  std::string runtime_identifier;  ///< "linux-x64"; empty where ProcessInfo3 was not answered.
};

/// Reads the payload of the OK answer to `command`: kProcessInfo, kProcessInfo2 or kProcessInfo3 (any other
/// fails).
[[nodiscard]] Result<ProcessInfo> decode_process_info(Command command, BytesView payload);
/// The payload of the answer to `command`, one of the three.
[[nodiscard]] Bytes encode_process_info(Command command, const ProcessInfo& info);

}  // namespace farport::ipc
