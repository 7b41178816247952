// What an agent says first on a connection that it has dialled itself, inside TLS: which agent it is, so that
// a mirror goes on with what it has of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace farport::router {

/// The line's beginning; the agent's instance follows. The number is that of this agreement, and not of
/// farport.
inline constexpr std::string_view kDialledGreeting = "farport-agent 1 ";
/// What the whole line may have, in bytes.
inline constexpr std::size_t kDialledGreetingSize = 128;

/// The line that an agent of this instance says.
[[nodiscard]] inline std::string dialled_greeting(const std::string& instance) {
  return std::string(kDialledGreeting).append(instance).append("\n");
}

/// The instance in such a line, without its end; nothing where it is something else.
[[nodiscard]] inline std::optional<std::string> instance_in_greeting(std::string_view line) {
  if (!line.starts_with(kDialledGreeting) || line.size() == kDialledGreeting.size()) return std::nullopt;
  return std::string(line.substr(kDialledGreeting.size()));
}

}  // namespace farport::router
