#include "base/descriptors.hpp"

#include <sys/resource.h>

#include "base/directory.hpp"

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
  const std::size_t count = entries_of("/proc/self/fd").size();
  // The directory itself was open meanwhile.
  return count == 0 ? 0 : count - 1;
}

}  // namespace farport
