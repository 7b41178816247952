// Payloads of the commands and their answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ipc/commands.hpp"
#include "ipc/wire.hpp"

namespace farport::ipc {

/// Checks that a runtime can parse a payload of this command; the error says what is wrong. Unknown commands
/// accept any payload.
[[nodiscard]] Result<void> check_payload(Command command, BytesView payload);

enum class DumpType : std::uint32_t { normal = 1, with_heap = 2, triage = 3, full = 4 };

/// dotnet-dump's name for it: "mini", "heap", "triage", "full".
[[nodiscard]] std::string_view name_of(DumpType type);
/// The inverse of name_of().
[[nodiscard]] std::optional<DumpType> dump_type_named(std::string_view name);

/// Whether `command` is one of the three that write a dump.
[[nodiscard]] bool is_core_dump(Command command);

/// Flags of a dump. The oldest command, GenerateCoreDump, knows only the first.
namespace dump_flag {
inline constexpr std::uint32_t kLogging = 1;
inline constexpr std::uint32_t kCrashReport = 4;
}  // namespace dump_flag

/// GenerateCoreDump, 2 and 3, which have the same layout. The answer is an HRESULT, sent when the dump is
/// written.
struct GenerateCoreDump {
  std::string path;  ///< In the runtime's file system.
  DumpType type = DumpType::normal;
  std::uint32_t flags = 0;

  /// Fails for an unknown type.
  [[nodiscard]] static Result<GenerateCoreDump> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

/// AttachProfiler: loads a profiler into a running runtime.
struct AttachProfiler {
  std::uint32_t timeout_ms = 0;
  Guid profiler;
  std::string path;   ///< Of the library, in the runtime's file system.
  Bytes client_data;  ///< Passed to the profiler unchanged.

  [[nodiscard]] static Result<AttachProfiler> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

/// StartupProfiler: loads a profiler before a suspended runtime starts.
struct StartupProfiler {
  Guid profiler;
  std::string path;  ///< Of the library, in the runtime's file system.

  [[nodiscard]] static Result<StartupProfiler> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

/// SetEnvironmentVariable: sets a variable in the runtime's process, or removes it.
struct SetEnvironmentVariable {
  std::string name;
  std::optional<std::string> value;  ///< Empty removes the variable.

  [[nodiscard]] static Result<SetEnvironmentVariable> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

enum class PerfMapType : std::uint32_t { all = 1, jit_dump = 2, perf_map = 3 };

/// EnablePerfMap: makes the runtime write the maps that Linux perf reads.
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

/// The OK answer to ProcessEnvironment. The environment itself follows as the continuation.
struct EnvironmentAnswer {
  std::uint32_t size = 0;  ///< Of the continuation, in bytes.

  [[nodiscard]] static Result<EnvironmentAnswer> decode(BytesView payload);
  [[nodiscard]] Bytes encode() const;
};

/// The continuation of ProcessEnvironment: entries "NAME=value".
[[nodiscard]] Result<std::vector<std::string>> decode_environment(BytesView continuation);

/// What a runtime reports about itself in its answer to ProcessInfo, ProcessInfo2 or ProcessInfo3.

struct ProcessInfo {
  std::uint64_t pid = 0;  ///< In the runtime's own pid namespace.
  Guid cookie;
  std::string command_line;
  std::string os;                  ///< "Linux", "Windows", "macOS".
  std::string architecture;        ///< "x64", "arm64".
  std::string entry_assembly;      ///< Empty if only ProcessInfo was answered.
  std::string clr_version;         ///< "10.0.0"; empty if only ProcessInfo was answered.
  std::string runtime_identifier;  ///< "linux-x64"; empty if ProcessInfo3 was not answered.
};

/// Reads the payload of the OK answer to kProcessInfo, kProcessInfo2 or kProcessInfo3; other commands fail.
[[nodiscard]] Result<ProcessInfo> decode_process_info(Command command, BytesView payload);

}  // namespace farport::ipc
