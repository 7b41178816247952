#include "base/process_limits.hpp"

#include <csignal>
#include <sstream>
#include <tuple>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/limited_read.hpp"

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

void limit_memory([[maybe_unused]] std::uint64_t more_bytes) {
#ifndef FARPORT_HAS_SANITIZER
  limit(RLIMIT_DATA, data_now() + more_bytes);
#endif
}

void end_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

}  // namespace farport
