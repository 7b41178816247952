// Payload of the Dump command set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ipc/commands.hpp"
#include "ipc/wire.hpp"

namespace farport::ipc {

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

}  // namespace farport::ipc
