// One event of the audit log, and its line of JSON (docs/security.md has the fields).
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "router/agent/gate/caller.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// How an event has ended.
struct Outcome {
  enum class Kind : std::uint8_t { completed, refused, failed, broken_off, stopped };
  Kind kind = Kind::completed;
  std::string why{};  ///< Empty where it was completed or the agent was stopped.
};

/// As the audit and the log say it: "completed", or why not.
[[nodiscard]] std::string to_string(const Outcome& outcome);

/// What is said of one event. What doesn't apply stays empty.
struct AuditEntry {
  std::string_view event;  ///< "command", "dump", "profile", "handshake", "session".
  const Caller& caller;
  RuntimePtr runtime{};
  std::string command{};    ///< The protocol's name.
  std::string arguments{};  ///< A JSON object: what describes the command, without any secret.
  bool allowed = false;
  std::string rule{};  ///< The grant that allowed it.
  std::string role{};  ///< That grant's role.
  Outcome outcome{};
  std::uint64_t to_runtime = 0;  ///< Bytes.
  std::uint64_t to_tool = 0;     ///< Bytes.
  std::chrono::milliseconds took{0};
};

/// The line, with its end: 8 KiB at most, as journals and container engines split longer ones. Texts that are
/// too long for it end in "…", and arguments are replaced by their beginning.
[[nodiscard]] std::string line_of(const AuditEntry& entry);

}  // namespace farport::router

template <>
struct fmt::formatter<farport::router::Outcome> : farport::TextFormatter {
  auto format(const farport::router::Outcome& outcome, fmt::format_context& context) const {
    return write(farport::router::to_string(outcome), context);
  }
};
