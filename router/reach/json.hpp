// Looking into JSON that other programs have written: what is missing or of another kind is nothing.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace farport::router {

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

}  // namespace farport::router
