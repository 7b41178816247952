// Containers of podman and docker, reached through their own commands.
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

// What an engine says of a container, as far as a helper container must be like it.

// Looking into JSON that other programs have written: what is missing or of another kind is nothing.

/// A member of an object; null where there is none.
[[nodiscard]] inline const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(name);
  return found == object.end() ? nothing : *found;
}

/// Empty where it is no text.
[[nodiscard]] inline std::string string_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

struct InspectedContainer {
  std::string id;
  bool running = false;
  bool paused = false;
  std::uint64_t pid = 0;  ///< Of its first process, where the engine runs.
  std::string user;       ///< As it is configured: "", "1654", "app", "app:staff".
  bool privileged = false;
  std::vector<std::string> added_capabilities;
  std::vector<std::string> dropped_capabilities;
};

/// From the JSON of `podman container inspect` or `docker container inspect`. Errors: it is something else.
[[nodiscard]] Result<InspectedContainer> parse_inspected(std::string_view json);

/// Numbers, as a flag takes them: "1654:1654".
struct NumericUser {
  std::string user;
  std::string group;
  [[nodiscard]] bool is_root() const { return user == "0"; }
  /// As engines take it.
  [[nodiscard]] std::string text() const { return user + ":" + group; }
  bool operator==(const NumericUser&) const = default;
};

/// Whether it is made of digits alone, as a user's or group's number is.
[[nodiscard]] bool is_number(std::string_view text);

/// Whether the container's own /etc/passwd must be asked for the user's number or group.
[[nodiscard]] bool needs_passwd(std::string_view user);

/// The user by number. `passwd`, `group`: the container's files; empty where it has none. Errors: a name
/// stands in neither; a name other than root has the number 0.
[[nodiscard]] Result<NumericUser> numeric_user(std::string_view user, std::string_view passwd,
                                               std::string_view group);

// Archives of one file (POSIX ustar), as container engines take and give them.

/// An archive of a program at this path, which anybody may run. `path`: shorter than 100 bytes, relative.
[[nodiscard]] std::vector<std::byte> tar_of_program(std::string_view path,
                                                    std::span<const std::byte> content);

/// The first plain file's content; nothing where there is none, or not all of it.
[[nodiscard]] std::optional<std::string> first_file(std::string_view tar);

/// `engine`: "podman" or "docker". `name`: the container's name or id. Errors: it is none.
[[nodiscard]] Result<std::shared_ptr<const Reach>> container_reach(std::string text, std::string engine,
                                                                   std::string name, Deploy deploy);

}  // namespace farport::router
