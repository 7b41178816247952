#include "base/process_limits.hpp"

#include <algorithm>
#include <csignal>
#include <sstream>
#include <string_view>
#include <tuple>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limited_read.hpp"
#include "base/unique_fd.hpp"

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

/// What RLIMIT_DATA counts of this process: the sixth number of /proc/PID/statm (proc(5)), in pages.
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

void be_ended_first() {
  // The files of a process that hides its memory are root's alone.
  const int dumpable = ::prctl(PR_GET_DUMPABLE);
  ::prctl(PR_SET_DUMPABLE, 1);
  const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  constexpr std::string_view kMost = "1000";
  std::ignore = ::write(file.get(), kMost.data(), kMost.size());
  ::prctl(PR_SET_DUMPABLE, dumpable == 1 ? 1 : 0);
}

void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

}  // namespace farport
