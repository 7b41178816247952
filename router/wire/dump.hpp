// Dumps as the two hosts speak of them, and as JSON: the API's words (docs/wire.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "ipc/payload.hpp"

namespace farport::router {

struct DumpRequest {
  ipc::DumpType type = ipc::DumpType::with_heap;
  std::uint32_t flags = 0;  ///< ipc::dump_flag.
};

/// How far a dump is. Sizes in bytes.
struct DumpProgress {
  enum class Phase : std::uint8_t { writing, sending };
  Phase phase = Phase::writing;
  std::uint64_t written = 0;              ///< By the runtime.
  std::optional<std::uint64_t> estimate;  ///< How much there will be; nothing where it can't be told.
  std::uint64_t sent = 0;                 ///< Of the dump, before compression.
  std::uint64_t total = 0;                ///< The dump's size, once it is written.
};

/// About how large a dump of a process will be that holds so much memory. All in bytes.
[[nodiscard]] std::uint64_t likely_dump_size(ipc::DumpType type, std::uint64_t memory);

/// "512 MiB".
[[nodiscard]] std::string mebibytes(std::uint64_t bytes);

/// "written 120 of about 500 MiB", "sent 230 of 512 MiB".
[[nodiscard]] std::string describe(const DumpProgress& progress);

/// Where a dump is that stays on the runtime's host.
struct KeptDump {
  std::string here;   ///< As the agent sees it.
  std::string there;  ///< As the runtime does.
  std::uint64_t size = 0;
};

/// {"phase":"writing","written":…,"estimate":…,"sent":…,"total":…}
[[nodiscard]] std::string to_json(const DumpProgress& progress);
[[nodiscard]] Result<DumpProgress> dump_progress_from_json(std::string_view text);

/// {"path":…,"agent_path":…,"size":…}
[[nodiscard]] std::string to_json(const KeptDump& kept);
/// The path for the runtime.
[[nodiscard]] Result<std::string> kept_dump_from_json(std::string_view text);

}  // namespace farport::router
