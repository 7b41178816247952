#include "router/readers/reading_request.hpp"

#include <algorithm>
#include <limits>

#include <unistd.h>

#include "base/resources.hpp"

namespace farport::router {

ReadingRequest local_request(ReadingTask::Kind kind, std::string text) {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const std::uint64_t there = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  ReadingRequest request;
  request.kind = kind;
  request.memory_bytes = std::min(memory_limit().value_or(there), there) / 2;
  request.processor_seconds = std::numeric_limits<std::uint32_t>::max();
  request.text = std::move(text);
  return request;
}

}  // namespace farport::router
