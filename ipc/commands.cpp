#include "ipc/commands.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace farport::ipc {
namespace {

constexpr std::array kCommands{
    NamedCommand{kGenerateCoreDump, "GenerateCoreDump"},
    NamedCommand{kGenerateCoreDump2, "GenerateCoreDump2"},
    NamedCommand{kGenerateCoreDump3, "GenerateCoreDump3"},
    NamedCommand{kStopTracing, "StopTracing"},
    NamedCommand{kCollectTracing, "CollectTracing"},
    NamedCommand{kCollectTracing2, "CollectTracing2"},
    NamedCommand{kCollectTracing3, "CollectTracing3"},
    NamedCommand{kCollectTracing4, "CollectTracing4"},
    NamedCommand{kCollectTracing5, "CollectTracing5"},
    NamedCommand{kCollectTracing6, "CollectTracing6"},
    NamedCommand{kAttachProfiler, "AttachProfiler"},
    NamedCommand{kStartupProfiler, "StartupProfiler"},
    NamedCommand{kProcessInfo, "ProcessInfo"},
    NamedCommand{kResumeRuntime, "ResumeRuntime"},
    NamedCommand{kProcessEnvironment, "ProcessEnvironment"},
    NamedCommand{kSetEnvironmentVariable, "SetEnvironmentVariable"},
    NamedCommand{kProcessInfo2, "ProcessInfo2"},
    NamedCommand{kEnablePerfMap, "EnablePerfMap"},
    NamedCommand{kDisablePerfMap, "DisablePerfMap"},
    NamedCommand{kApplyStartupHook, "ApplyStartupHook"},
    NamedCommand{kProcessInfo3, "ProcessInfo3"},
};

}  // namespace

std::span<const NamedCommand> all_commands() {
  return kCommands;
}

std::string_view name_of(Command command) {
  const auto* const found = std::ranges::find(kCommands, command, &NamedCommand::command);
  return found == kCommands.end() ? std::string_view() : found->name;
}

std::string describe(Command command) {
  const std::string_view name = name_of(command);
  if (!name.empty()) return std::string(name);
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "unknown command 0x%02X/0x%02X", command.set, command.id);
  return text.data();
}

}  // namespace farport::ipc
