#include "router/agent/dumps/dump_need.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <span>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/text.hpp"
#include "base/unique_fd.hpp"
#include "router/recordings/recordings.hpp"
#include "router/wire/dump.hpp"

namespace farport::router {
namespace {

/// createdump's own memory, and some for the kernel. Of the types but full, .NET 8 took 4 to 7 MiB, .NET 9 12
/// to 16, and .NET 10 4 to 8, and each thread 8 KiB; full took half. Heaps of ten million objects made no
/// difference.
std::uint64_t createdump_memory(int version, std::uint64_t threads, ipc::DumpType type) {
  constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
  constexpr std::uint64_t kEachThread = std::uint64_t{10} << 10;
  const bool is_small = version == 8 || version == 10;
  const std::uint64_t own = (is_small ? 8 : 17) / (type == ipc::DumpType::full ? 2 : 1);
  return (own + 2) * kMebibyte + threads * kEachThread;
}

constexpr std::size_t kMostTried = std::size_t{8} << 20;

/// Enough for a huge page wherever it begins, since those may take memory where others don't.
std::size_t tried_bytes() {
  const std::string told =
      read_limited("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", 32).value_or("");
  const auto huge = number_in<std::size_t>(std::string_view(told).substr(0, told.find('\n')));
  return std::min(2 * huge.value_or(kMostTried / 4), kMostTried);
}

/// Reads a part of this process's memory as another process would read it, or else as any program does.
void read_all(const std::byte* from, std::size_t bytes) {
  const UniqueFd memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  std::array<std::byte, 16 * 1024> piece{};
  for (std::span<const std::byte> rest(from, bytes); !rest.empty();) {
    const auto now = rest.first(std::min(rest.size(), piece.size()));
    const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(now.data()));
    if (!memory || ::pread(memory.get(), piece.data(), now.size(), at) != static_cast<ssize_t>(now.size()))
      std::copy_n(static_cast<const volatile std::byte*>(now.data()), now.size(), piece.begin());
    rest = rest.subspan(now.size());
  }
}

/// How much memory the mapping at this address has, in bytes (proc(5), smaps). Nothing if that is not told.
std::optional<std::uint64_t> resident_at(const void* address) {
  std::ifstream regions("/proc/self/smaps");
  const std::string beginning = fmt::format("{:x}-", reinterpret_cast<std::uintptr_t>(address));
  bool is_there = false;
  for (std::string line, key; std::getline(regions, line);) {
    std::istringstream fields(line);
    std::uint64_t kibibytes = 0;
    is_there = is_there || line.starts_with(beginning);
    if (is_there && fields >> key >> kibibytes && key == "Rss:") return kibibytes << 10;
  }
  return std::nullopt;
}

bool try_reading() {
  // A page without access on each side keeps it a mapping of its own.
  const auto page = static_cast<std::size_t>(::getpagesize());
  const std::size_t wanted = tried_bytes();
  const std::size_t size = wanted + 2 * page;
  void* const mapped = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return true;
  std::byte* const tried = static_cast<std::byte*>(mapped) + page;
  const bool may_read = ::mprotect(tried, wanted, PROT_READ | PROT_WRITE) == 0;
  if (may_read) read_all(tried, wanted);
  const auto taken = may_read ? resident_at(tried) : std::nullopt;
  ::munmap(mapped, size);
  return !taken || *taken >= wanted / 4;
}

bool has_heap(ipc::DumpType type) {
  return type == ipc::DumpType::with_heap || type == ipc::DumpType::full;
}

std::string what_fits(std::uint64_t room, bool is_host, const DumpedProcess& process, ipc::DumpType type,
                      bool into_memory) {
  const DumpNeed mini = dump_need(process, ipc::DumpType::normal);
  const std::uint64_t least = mini.memory + (into_memory ? mini.file : 0);
  std::string fits = is_host ? "free memory on the host" : "raise the memory limit";
  if (into_memory) fits = "set [dump] directory to a file system on a disk, or " + fits;
  if (has_heap(type) && least <= room)
    fits = fmt::format("--type mini takes {}; or {}", mebibytes(least), fits);
  return fits + " (farport dump --anyway takes it all the same)";
}

}  // namespace

bool reading_takes_memory() {
  static const bool takes = try_reading();
  return takes;
}

std::optional<DumpedProcess> look_before_dump(pid_t pid, std::string_view version) {
  auto status = pid > 0 ? process_status(pid) : std::nullopt;
  if (!status) return std::nullopt;
  return DumpedProcess{std::move(*status), major_of(version), reading_takes_memory()};
}

DumpNeed dump_need(const DumpedProcess& process, ipc::DumpType type) {
  DumpNeed need;
  const ProcessStatus& status = process.status;
  const std::uint64_t unused = status.own_memory - std::min(status.own_memory, status.own_pages);
  if (has_heap(type)) need.brought_in = process.reading_takes_memory ? unused : status.swapped;
  need.memory = createdump_memory(process.version, status.threads, type) + need.brought_in;
  need.file = likely_dump_size(type, status.memory, status.own_memory);
  return need;
}

Result<void> check_memory(const MemoryLeft& left, const std::string& runtime, const DumpedProcess& process,
                          ipc::DumpType type, const std::string& into_memory) {
  const DumpNeed need = dump_need(process, type);
  const std::uint64_t all = need.memory + (into_memory.empty() ? 0 : need.file);
  const bool has_group = !left.in_group || all <= *left.in_group;
  const bool has_host = !left.on_host || all <= *left.on_host;
  if (has_group && has_host) return {};
  const bool is_host = has_group;
  const std::uint64_t room = is_host ? *left.on_host : *left.in_group;
  std::string why =
      fmt::format("{} of memory are left {}, and a {} dump takes {}", mebibytes(room),
                  is_host ? "on its host" : "in its control group", ipc::name_of(type), mebibytes(all));
  if (need.brought_in > 0)
    why +=
        fmt::format(", {} of them for pages that the application does not use", mebibytes(need.brought_in));
  if (!into_memory.empty())
    why += fmt::format(", {} for the file in {}, which is in memory", mebibytes(need.file), into_memory);
  return fail("take a dump of", runtime, why + ": the kernel would kill the application",
              what_fits(room, is_host, process, type, !into_memory.empty()));
}

}  // namespace farport::router
