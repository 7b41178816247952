#include "base/process_usage.hpp"

#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

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
  // proc(5), statm: the program's size and what of it is resident, in pages.
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::ifstream statm("/proc/self/statm");
  if (statm >> size >> resident)
    usage.resident_bytes = resident * static_cast<std::uint64_t>(::getpagesize());
  return usage;
}

}  // namespace farport
