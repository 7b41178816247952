// Reaching containers of podman and docker through the engines' own commands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

/// A member of a JSON object written by another program; null if it is missing or `object` is none.
[[nodiscard]] inline const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

/// The value if it is a string, otherwise empty.
[[nodiscard]] inline std::string string_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// The elements of an array; none of anything else.
[[nodiscard]] inline const nlohmann::json& elements(const nlohmann::json& value) {
  static const nlohmann::json none = nlohmann::json::array();
  return value.is_array() ? value : none;
}

/// A container as its engine describes it, as far as the helper container needs it.
struct InspectedContainer {
  std::string id;
  bool running = false;
  bool paused = false;
  ContainerRun run{};
  std::uint64_t pid = 0;  ///< Of its first process, on the engine's host.
  std::string user;       ///< As configured: "", "1654", "app", "app:staff".
  bool privileged = false;
  std::vector<std::string> added_capabilities;
  std::vector<std::string> dropped_capabilities;
};

/// Parses the JSON of `podman container inspect` or `docker container inspect`. Fails on anything else.
[[nodiscard]] Result<InspectedContainer> parse_inspected(std::string_view json);

/// User and group as numbers.
struct NumericUser {
  std::string user;
  std::string group;
  [[nodiscard]] bool is_root() const { return user == "0"; }
  /// As engines take it: "1654:1654".
  [[nodiscard]] std::string text() const { return user + ":" + group; }
  bool operator==(const NumericUser&) const = default;
};

/// Whether the number or group of this user must be looked up in the container's /etc/passwd.
[[nodiscard]] bool needs_passwd(std::string_view user);

/// Resolves a user to numbers. `passwd`, `group`: contents of the container's files; empty if missing. Fails
/// if a name is in neither, or if a user other than root has number 0.
[[nodiscard]] Result<NumericUser> numeric_user(std::string_view user, std::string_view passwd,
                                               std::string_view group);

/// A POSIX ustar archive, which engines accept, of an executable for everybody. `path`: relative, shorter
/// than 100 bytes.
[[nodiscard]] std::vector<std::byte> tar_of_program(std::string_view path,
                                                    std::span<const std::byte> content);

/// The content of the first plain file in a ustar archive; empty if there is none or it is incomplete.
[[nodiscard]] std::optional<std::string> first_file(std::string_view tar);

/// `engine`: "podman" or "docker". `name`: the container's name or id; fails if it can't be one.
[[nodiscard]] Result<std::shared_ptr<const Reach>> container_reach(std::string text, std::string engine,
                                                                   std::string name, Deploy deploy);

}  // namespace farport::router
