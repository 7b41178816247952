// Runtimes and what happens to them, as JSON: the API's words (docs/wire.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "router/registry.hpp"

namespace farport::router {

/// One object: id, pid, name, command_line, os, architecture, version, state, since.
[[nodiscard]] std::string to_json(const Runtime& runtime);
/// An array of such objects.
[[nodiscard]] std::string to_json(const std::vector<Runtime>& runtimes);
/// {"event":"added","runtime":{…}} and a newline.
[[nodiscard]] std::string to_json_line(const RuntimeEvent& event);

/// The reverse. Errors say what is missing or of the wrong type; unknown members are ignored.
[[nodiscard]] Result<std::vector<Runtime>> runtimes_from_json(std::string_view text);
[[nodiscard]] Result<RuntimeEvent> event_from_json(std::string_view line);

/// {"error":"…"}: why a request was refused.
[[nodiscard]] std::string error_json(std::string_view why);
/// The text of such an object; the body itself, shortened, where it is none.
[[nodiscard]] std::string error_from_json(std::string_view body);

}  // namespace farport::router
