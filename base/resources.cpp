#include "base/resources.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string_view>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"

namespace farport {
namespace {

double seconds(const timeval& time) {
  constexpr double kMicro = 1e-6;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * kMicro;
}

}  // namespace

ProcessUsage process_usage() {
  ProcessUsage usage;
  rusage own{};
  ::getrusage(RUSAGE_SELF, &own);
  usage.cpu_seconds = seconds(own.ru_utime) + seconds(own.ru_stime);
  // proc(5), statm: total and resident size, in pages.
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::ifstream statm("/proc/self/statm");
  if (statm >> size >> resident)
    usage.resident_bytes = resident * static_cast<std::uint64_t>(::getpagesize());
  return usage;
}

namespace {

/// Drops the resident pages of an object's text and constants. They come from a file and are never written,
/// so nothing is lost. What the dynamic linker writes to is in writable segments (RELRO included).
int drop_constant_pages(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::getpagesize());
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // Program headers hold addresses as integers. NOLINTNEXTLINE(performance-no-int-to-ptr)
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void return_large_memory() {
  // Setting the threshold stops malloc from raising it (mallopt(3)), so large blocks go back to the system at
  // once.
  constexpr int kLarge = 256 * 1024;
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
}

void release_unused_memory() {
  ::malloc_trim(0);
  ::dl_iterate_phdr(drop_constant_pages, nullptr);
}

void drop_pages(std::span<std::byte> block) {
  const auto page = static_cast<std::uintptr_t>(::getpagesize());
  const auto begin = reinterpret_cast<std::uintptr_t>(block.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t end = (begin + block.size()) / page * page;
  if (first < end) ::madvise(block.data() + (first - begin), end - first, MADV_DONTNEED);
}

namespace {

/// Version 1 reports «no limit» as the largest number of whole pages, which no machine has.
constexpr std::uint64_t kUnlimited = 1ULL << 60;

/// More than any file has that is read here.
constexpr std::size_t kMaxText = std::size_t{64} * 1024;

std::string text_at(const std::string& path) {
  return read_limited(path, kMaxText).value_or("");
}

struct Hierarchy {
  std::string mount;  ///< The directory of its groups.
  const char* file;   ///< Name of the file with a group's limit.
};

/// The parent group: "/a" for "/a/b", "" for "/a".
std::string parent_of(const std::string& group) {
  const std::size_t slash = group.rfind('/');
  return slash == std::string::npos ? "" : group.substr(0, slash);
}

/// The number in the text of a file; nothing if there is none, or if it means that there is no limit.
std::optional<std::uint64_t> limit_in(const std::string& text) {
  const auto value = number_in<std::uint64_t>(std::string_view(text).substr(0, text.find('\n')));
  // "max" means that there is no limit.
  return value && *value < kUnlimited ? value : std::nullopt;
}

void lower(std::optional<std::uint64_t>& least, std::optional<std::uint64_t> limit) {
  if (limit) least = std::min(least.value_or(*limit), *limit);
}

/// Applies the limits of a group and its parents. A container often sees its own group as the root, whatever
/// its name is outside, so the root's limit is always read.
void lower_by_groups(std::optional<std::uint64_t>& least, const Hierarchy& hierarchy, std::string group) {
  while (!group.empty() && group != "/") {
    lower(least, limit_in(text_at(hierarchy.mount + group + hierarchy.file)));
    group = parent_of(group);
  }
  lower(least, limit_in(text_at(hierarchy.mount + hierarchy.file)));
}

/// Whether a list of controllers ("cpu,memory") includes memory.
bool lists_memory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

/// A group in which a process's memory is counted.
struct GroupName {
  int version = 2;
  std::string mount;  ///< The directory of all groups.
  std::string name;   ///< "/a/b"
};

/// The groups of a process; `process` is its name in /proc.
std::vector<GroupName> group_names_of(const std::string& root, const std::string& process) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::vector<GroupName> groups;
  std::ifstream file(root + "/proc/" + process + "/cgroup");
  // cgroups(7): "hierarchy-ID:controller-list:path"; version 2 is "0::path".
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string name = line.substr(second + 1);
    if (controllers.empty()) groups.push_back({2, mount, name});
    if (lists_memory(controllers)) groups.push_back({1, mount + "/memory", name});
  }
  return groups;
}

}  // namespace

std::optional<std::uint64_t> memory_limit(const std::string& root) {
  std::optional<std::uint64_t> least;
  for (const GroupName& group : group_names_of(root, "self"))
    lower_by_groups(least, {group.mount, group.version == 2 ? "/memory.max" : "/memory.limit_in_bytes"},
                    group.name);
  return least;
}

std::string ControlGroupFile::text() const {
  if (!open) return text_at(path);
  // The kernel writes the text anew whenever it is read from its beginning.
  std::string text(kMaxText, '\0');
  const ssize_t got = ::pread(open.get(), text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

MemoryGroupFiles MemoryGroupFiles::in(const std::string& directory, int version) {
  if (version == 2)
    return {version,
            {directory + "/memory.events"},
            {directory + "/memory.current"},
            {directory + "/memory.max"},
            {directory + "/memory.stat"}};
  return {version,
          {directory + "/memory.oom_control"},
          {directory + "/memory.usage_in_bytes"},
          {directory + "/memory.limit_in_bytes"},
          {directory + "/memory.stat"}};
}

std::vector<MemoryGroupFiles> memory_groups_of(pid_t pid, const std::string& root) {
  const auto own = group_names_of(root, "self");
  for (const GroupName& group : group_names_of(root, std::to_string(pid))) {
    // A group outside of this process's own namespace begins with "/..".
    if (group.name.find("/..") != std::string::npos) continue;
    std::vector<MemoryGroupFiles> groups;
    for (std::string name = group.name; !name.empty() && name != "/"; name = parent_of(name))
      groups.push_back(MemoryGroupFiles::in(group.mount + name, group.version));
    const bool is_seen = !groups.empty() && oom_kills(groups.front());
    if (is_seen) return groups;
    // A container often sees its own group as the root, whatever its name is outside.
    const bool is_ours = std::ranges::any_of(
        own, [&](const GroupName& each) { return each.version == group.version && each.name == group.name; });
    groups.clear();
    groups.push_back(MemoryGroupFiles::in(group.mount, group.version));
    if (is_ours && oom_kills(groups.front())) return groups;
  }
  return {};
}

namespace {

/// The number behind this word in lines of words and numbers; nothing if there is none.
std::optional<std::uint64_t> number_behind(const std::string& text, std::string_view word) {
  std::istringstream lines(text);
  for (std::string line, key, value; std::getline(lines, line);) {
    std::istringstream fields(line);
    if (fields >> key >> value && key == word) return number_in<std::uint64_t>(value);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> oom_kills(const MemoryGroupFiles& group) {
  return number_behind(group.kills.text(), "oom_kill");
}

std::optional<MemoryUse> memory_use(const MemoryGroupFiles& group) {
  const auto limit = limit_in(group.limit.text());
  const auto usage = limit_in(group.usage.text());
  if (!limit || !usage || *limit == 0) return std::nullopt;
  const std::string stat = group.stat.text();
  // Version 1 has the numbers without children as "inactive_file" and "active_file".
  const auto files = [&](const char* which) {
    return number_behind(stat, std::string(group.version == 1 ? "total_" : "") + which + "_file").value_or(0);
  };
  const auto less = [](std::uint64_t from, std::uint64_t what) { return from - std::min(from, what); };
  const std::uint64_t used = less(*usage, files("inactive"));
  return MemoryUse{used, *limit, less(*limit, less(used, files("active")))};
}

std::optional<std::uint64_t> available_memory() {
  constexpr std::uint64_t kKibibyte = 1024;
  const std::string told = text_at("/proc/meminfo");
  const auto available = number_behind(told, "MemAvailable:");
  if (!available || memory_limit()) return std::nullopt;
  return (*available + number_behind(told, "SwapFree:").value_or(0)) * kKibibyte;
}

}  // namespace farport

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define FARPORT_HAS_SANITIZER
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FARPORT_HAS_SANITIZER
#endif

namespace farport {
namespace {

void limit(__rlimit_resource what, rlim_t most) {
  const rlimit both{most, most};
  std::ignore = ::setrlimit(what, &both);
}

/// The size that RLIMIT_DATA limits, in bytes: the sixth number of /proc/PID/statm (proc(5)) counts its
/// pages.
[[maybe_unused]] rlim_t data_now() {
  std::istringstream numbers(read_limited("/proc/self/statm", 256).value_or(""));
  rlim_t pages = 0;
  for (int i = 0; i < 6; ++i) numbers >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void limit_processor_time(std::uint32_t seconds) {
  limit(RLIMIT_CPU, seconds);
}

void limit_memory([[maybe_unused]] std::uint64_t more_bytes, [[maybe_unused]] std::uint64_t for_children) {
#ifndef FARPORT_HAS_SANITIZER
  rlimit now{};
  std::ignore = ::getrlimit(RLIMIT_DATA, &now);
  const rlim_t own = std::min<rlim_t>(data_now() + more_bytes, now.rlim_max);
  const rlimit both{own, std::min<rlim_t>(own + for_children, now.rlim_max)};
  std::ignore = ::setrlimit(RLIMIT_DATA, &both);
#endif
}

void prefer_as_oom_victim() {
  // If the process is not dumpable, its /proc files belong to root.
  const int dumpable = ::prctl(PR_GET_DUMPABLE);
  ::prctl(PR_SET_DUMPABLE, 1);
  const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  constexpr std::string_view kMax = "1000";
  std::ignore = ::write(file.get(), kMax.data(), kMax.size());
  ::prctl(PR_SET_DUMPABLE, dumpable == 1 ? 1 : 0);
}

void end_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::size_t descriptor_limit() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

std::size_t open_descriptors() {
  const std::size_t count = entries_of("/proc/self/fd").size();
  // The count includes the directory itself, which was open.
  return count == 0 ? 0 : count - 1;
}

}  // namespace farport
