// Runtimes and what happens to them, as JSON: the API's words (docs/wire.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// One object: id, pid, name, command_line, os, architecture, version, state, user, host, since; host_pid and
/// container where there are any.
[[nodiscard]] std::string to_json(const Runtime& runtime);
/// An array of such objects.
[[nodiscard]] std::string to_json(const std::vector<Runtime>& runtimes);
/// {"event":"added","runtime":{…}} and a newline.
[[nodiscard]] std::string to_json_line(const RuntimeEvent& event);

/// The reverse. Errors say what is missing or of the wrong type; unknown members are ignored.
[[nodiscard]] Result<std::vector<Runtime>> runtimes_from_json(std::string_view text);
[[nodiscard]] Result<RuntimeEvent> event_from_json(std::string_view line);

/// {"error":"…"}: why a request was refused; with the HRESULT that a tool is to be told, where there is one.
[[nodiscard]] std::string error_json(std::string_view why, std::optional<std::uint32_t> hresult = {});

/// What such an object says; as `why` the body itself, shortened, where that is no such object.
struct RefusedRequest {
  std::string why;
  std::optional<std::uint32_t> hresult;
};
[[nodiscard]] RefusedRequest error_from_json(std::string_view body);

}  // namespace farport::router
