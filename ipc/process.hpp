// Payloads of the Process command set. ProcessInfo (all three), ResumeRuntime, ProcessEnvironment and
// DisablePerfMap are sent without one; what the first answer is in process_info.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ipc/wire.hpp"

namespace farport::ipc {

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

}  // namespace farport::ipc
