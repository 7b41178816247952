// A dump's progress and whereabouts as JSON: the API's words (docs/wire.md).
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "router/agent/dumps/dump.hpp"

namespace farport::router {

/// {"phase":"writing","written":…,"estimate":…,"sent":…,"total":…}
[[nodiscard]] std::string to_json(const DumpProgress& progress);
[[nodiscard]] Result<DumpProgress> dump_progress_from_json(std::string_view text);

/// {"path":…,"agent_path":…,"size":…}
[[nodiscard]] std::string to_json(const DumpDirectory::Kept& kept);
/// The path for the runtime.
[[nodiscard]] Result<std::string> kept_dump_from_json(std::string_view text);

}  // namespace farport::router
