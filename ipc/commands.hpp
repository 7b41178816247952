// Command: the commands of the diagnostic IPC protocol, by number and by name.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/log.hpp"

namespace farport::ipc {

/// A command set and the id within it. Answers are commands too: set 0xFF.
struct Command {
  std::uint8_t set = 0;
  std::uint8_t id = 0;

  friend auto operator<=>(const Command&, const Command&) = default;
};

inline constexpr Command kGenerateCoreDump{0x01, 0x01};
inline constexpr Command kGenerateCoreDump2{0x01, 0x02};
inline constexpr Command kGenerateCoreDump3{0x01, 0x03};

inline constexpr Command kStopTracing{0x02, 0x01};
inline constexpr Command kCollectTracing{0x02, 0x02};
inline constexpr Command kCollectTracing2{0x02, 0x03};
inline constexpr Command kCollectTracing3{0x02, 0x04};
inline constexpr Command kCollectTracing4{0x02, 0x05};
inline constexpr Command kCollectTracing5{0x02, 0x06};
inline constexpr Command kCollectTracing6{0x02, 0x07};

inline constexpr Command kAttachProfiler{0x03, 0x01};
inline constexpr Command kStartupProfiler{0x03, 0x02};

inline constexpr Command kProcessInfo{0x04, 0x00};
inline constexpr Command kResumeRuntime{0x04, 0x01};
inline constexpr Command kProcessEnvironment{0x04, 0x02};
inline constexpr Command kSetEnvironmentVariable{0x04, 0x03};
inline constexpr Command kProcessInfo2{0x04, 0x04};
inline constexpr Command kEnablePerfMap{0x04, 0x05};
inline constexpr Command kDisablePerfMap{0x04, 0x06};
inline constexpr Command kApplyStartupHook{0x04, 0x07};
inline constexpr Command kProcessInfo3{0x04, 0x08};

inline constexpr Command kOk{0xFF, 0x00};
inline constexpr Command kError{0xFF, 0xFF};

/// A command and the protocol's name for it.
struct NamedCommand {
  Command command;
  std::string_view name;
};
/// Every command that a tool can send, in the order of sets and ids; not the answers.
[[nodiscard]] std::span<const NamedCommand> all_commands();

/// The protocol's name: "CollectTracing2"; empty for an unknown command.
[[nodiscard]] std::string_view name_of(Command command);
/// For people and logs: the name, or "unknown command 0x02/0x42".
[[nodiscard]] std::string describe(Command command);

}  // namespace farport::ipc

template <>
struct fmt::formatter<farport::ipc::Command> : farport::TextFormatter {
  auto format(const farport::ipc::Command& command, fmt::format_context& context) const {
    return write(farport::ipc::describe(command), context);
  }
};
