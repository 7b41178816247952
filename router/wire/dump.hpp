// Dumps as both hosts describe them, also in JSON (docs/developers/wire.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "ipc/payload.hpp"

namespace farport::router {

/// What kind of dump is wanted.
struct DumpRequest {
  ipc::DumpType type = ipc::DumpType::with_heap;
  std::uint32_t flags = 0;  ///< ipc::dump_flag.
  bool anyway = false;      ///< Also where the application has too little memory for it.
};

/// How far a dump is. All sizes are in bytes.
struct DumpProgress {
  enum class Phase : std::uint8_t { writing, sending };
  Phase phase = Phase::writing;
  std::uint64_t written = 0;              ///< What the runtime has written.
  std::optional<std::uint64_t> estimate;  ///< The expected size; nothing if it can't be estimated.
  std::uint64_t sent = 0;                 ///< Bytes of the dump, before compression.
  std::uint64_t total = 0;                ///< The size of the dump, once it is written.
  bool operator==(const DumpProgress&) const = default;
};

/// The likely size of a dump of a process that uses so much memory, and may write to so much of its own. All
/// in bytes.
[[nodiscard]] std::uint64_t likely_dump_size(ipc::DumpType type, std::uint64_t used, std::uint64_t own);

/// For example "512 MiB".
[[nodiscard]] std::string mebibytes(std::uint64_t bytes);

/// For example "written 120 of about 500 MiB", or "sent 230 of 512 MiB".
[[nodiscard]] std::string describe(const DumpProgress& progress);

/// A dump that stays on the runtime's host, by its path.
struct KeptDump {
  std::string here;   ///< As the agent sees it.
  std::string there;  ///< As the runtime sees it.
  std::uint64_t size = 0;
};

/// {"phase":"writing","written":…,"estimate":…,"sent":…,"total":…}
[[nodiscard]] std::string to_json(const DumpProgress& progress);
[[nodiscard]] Result<DumpProgress> dump_progress_from_json(std::string_view text);

/// {"path":…,"agent_path":…,"size":…}
[[nodiscard]] std::string to_json(const KeptDump& kept);
/// Returns the path as the runtime sees it.
[[nodiscard]] Result<std::string> kept_dump_from_json(std::string_view text);

}  // namespace farport::router
