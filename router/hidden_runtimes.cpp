#include "router/hidden_runtimes.hpp"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/process_stat.hpp"

namespace farport::router {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kSwitches{
    "DOTNET_EnableDiagnostics=0", "DOTNET_EnableDiagnostics_IPC=0", "COMPlus_EnableDiagnostics=0",
    "COMPlus_EnableDiagnostics_IPC=0"};

std::optional<std::string> read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The setting in a process's environment that switches its diagnostics off; empty where there is none.
std::string_view switched_off_by(const std::string& environment) {
  for (const std::string_view setting : kSwitches) {
    const std::size_t at = environment.find(setting);
    const std::size_t end = at + setting.size();
    if (at == std::string::npos || (at > 0 && environment[at - 1] != '\0')) continue;
    if (end == environment.size() || environment[end] == '\0') return setting;
  }
  return {};
}

}  // namespace

void HiddenRuntimes::look(const Log& log) {
  std::set<std::pair<int, std::uint64_t>> still_there;
  std::error_code error;
  fs::directory_iterator processes("/proc", error);
  // Where it can't be read, for want of descriptors, what is known stays known.
  if (error) return;
  for (const auto& entry : processes) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = std::stoi(name);
    const std::optional<ProcessStat> stat = process_stat(pid);
    const std::optional<std::string> environment = read_file(entry.path() / "environ");
    if (!stat || !environment) continue;
    const std::pair<int, std::uint64_t> process{pid, stat->start_time};
    if (settled_.contains(process)) {
      still_there.insert(process);
      continue;
    }
    const std::string_view setting = switched_off_by(*environment);
    if (!setting.empty()) {
      // A process that has only just started may load the runtime later: it is looked at again.
      const std::optional<std::string> maps = read_file(entry.path() / "maps");
      if (!maps || maps->find("/libcoreclr.so") == std::string::npos) continue;
      log->warn("the .NET process {} can't be diagnosed: {} is set in its environment; start it without", pid,
                setting);
    }
    still_there.insert(process);
  }
  settled_ = std::move(still_there);
}

}  // namespace farport::router
