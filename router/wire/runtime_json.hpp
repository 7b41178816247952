// The members of a runtime in JSON, for all that has a runtime in it.
#pragma once

#include <cstddef>
#include <string>

#include "router/wire/json_members.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// How much of the other side's texts is kept, in bytes.
inline constexpr std::size_t kLongestName = 1024;
/// The most values in a list of very many runtimes, and in one event.
inline constexpr std::size_t kListValues = 300'000;
inline constexpr std::size_t kEventValues = 1000;

[[nodiscard]] json object_of(const Runtime& runtime);
/// Throws if it is no runtime.
[[nodiscard]] Runtime runtime_of(const json& object);

/// A text member. It is cut between characters if it is too long, and before a zero byte, which would end an
/// argument or variable that is made of it.
[[nodiscard]] std::string text_in(const json& object, const char* name, std::size_t longest = kLongestName);

}  // namespace farport::router
