#include "base/descriptors.hpp"

#include <filesystem>

#include <sys/resource.h>

namespace farport {

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
  std::error_code error;
  std::size_t count = 0;
  std::filesystem::directory_iterator entry("/proc/self/fd", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) ++count;
  // The directory itself was open meanwhile.
  return count == 0 ? 0 : count - 1;
}

}  // namespace farport
