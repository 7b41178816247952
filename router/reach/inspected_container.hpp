// What an engine says of a container, as far as a helper container must be like it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace farport::router {

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

}  // namespace farport::router
