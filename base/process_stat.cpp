#include "base/process_stat.hpp"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include "base/files.hpp"

namespace farport {
namespace {

/// Enough for a name of 15 bytes and some fifty numbers.
constexpr std::size_t kMaxStat = 4096;
constexpr std::size_t kMaxName = 256;

std::optional<ProcessStat> read_stat(const std::string& path) {
  // Not with a stream, whose buffer throws if the process ends meanwhile.
  const std::string text = read_limited(path, kMaxStat).value_or("");
  // The second field is the name in parentheses, and may itself contain parentheses.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessStat stat;
  stat.id = std::atoi(text.c_str());
  const std::size_t name_start = text.find('(') + 1;
  stat.name = text.substr(name_start, name_end - name_start);
  fields >> stat.state >> stat.parent;
  std::string skipped;
  for (int field = 5; field < 14; ++field) fields >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  fields >> user >> system;
  stat.processor_time = user + system;
  for (int field = 16; field < 22; ++field) fields >> skipped;
  if (!(fields >> stat.start_time)) return std::nullopt;
  return stat;
}

}  // namespace

std::optional<ProcessStat> process_stat(pid_t pid) {
  return read_stat(directory_of_process(pid) + "/stat");
}

std::optional<ProcessStat> thread_stat(pid_t pid, pid_t thread) {
  return read_stat(directory_of_process(pid) + "/task/" + std::to_string(thread) + "/stat");
}

std::vector<ProcessStat> thread_stats(pid_t pid, std::size_t most) {
  std::vector<ProcessStat> all;
  for (const int thread : numbered_entries(directory_of_process(pid) + "/task", most)) {
    if (const auto stat = thread_stat(pid, thread)) all.push_back(*stat);
  }
  return all;
}

std::string waiting_in(pid_t pid) {
  const std::string name = read_limited(directory_of_process(pid) + "/wchan", kMaxName).value_or("");
  return name == "0" ? std::string() : name;
}

std::chrono::milliseconds from_ticks(std::uint64_t ticks) {
  constexpr std::uint64_t kMilliseconds = 1000;
  return std::chrono::milliseconds(ticks * kMilliseconds /
                                   static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

std::chrono::system_clock::time_point time_at(std::uint64_t ticks_after_boot) {
  timespec up{};
  ::clock_gettime(CLOCK_BOOTTIME, &up);
  const auto since_boot = std::chrono::seconds(up.tv_sec) + std::chrono::nanoseconds(up.tv_nsec);
  return std::chrono::time_point_cast<std::chrono::system_clock::duration>(
      std::chrono::system_clock::now() - since_boot + from_ticks(ticks_after_boot));
}

namespace {

/// Takes a line about memory.
void take_memory(ProcessStatus& status, std::string_view key, std::istringstream& values) {
  constexpr std::uint64_t kInKib = 1024;
  std::uint64_t kibibytes = 0;
  if (!(values >> kibibytes)) return;
  const std::uint64_t bytes = kibibytes * kInKib;
  if (key == "VmRSS" || key == "VmSwap") status.memory += bytes;
  if (key == "VmData" || key == "VmStk") status.own_memory += bytes;
  if (key == "VmSwap") status.swapped = bytes;
  if (key == "RssAnon") status.own_pages = bytes;
}

/// Takes a line about users and rights.
void take_rights(ProcessStatus& status, std::string_view key, std::istringstream& values) {
  std::uint64_t number = 0;
  if (key == "Uid") values >> number >> status.user;
  if (key == "Gid") values >> number >> status.group;
  if (key == "Threads") values >> status.threads;
  if (key == "CapPrm") values >> std::hex >> status.capabilities;
  if (key == "Seccomp") {
    constexpr std::uint64_t kFilter = 2;
    status.filtered = (values >> number) && number == kFilter;
  }
  if (key == "Groups") {
    while (values >> number) status.groups.push_back(static_cast<gid_t>(number));
  }
}

}  // namespace

std::optional<ProcessStatus> process_status(pid_t pid) {
  std::ifstream file(directory_of_process(pid) + "/status");
  if (!file) return std::nullopt;
  ProcessStatus status;
  status.own_pid = static_cast<std::uint64_t>(pid);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view key = std::string_view(line).substr(0, colon);
    std::istringstream values(line.substr(colon + 1));
    if (key.starts_with("Vm") || key == "RssAnon") {
      take_memory(status, key, values);
    } else if (key == "NSpid") {
      // One pid for each nested namespace, from ours to the process's own.
      for (std::uint64_t own = 0; values >> own;) status.own_pid = own;
    } else {
      take_rights(status, key, values);
    }
  }
  return status;
}

std::uint64_t pid_in_own_namespace(pid_t pid) {
  if (pid <= 0) return 0;
  const std::optional<ProcessStatus> status = process_status(pid);
  return status ? status->own_pid : static_cast<std::uint64_t>(pid);
}

}  // namespace farport
