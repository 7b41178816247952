// Limits of what this process may use, for good (setrlimit(2)).
#pragma once

#include <cstdint>

namespace farport {

/// So many seconds of processor time; then the kernel ends it.
void limit_processor_time(std::uint32_t seconds);

/// So much memory of its own beside what it has now; then there is none to be had (std::bad_alloc). The
/// sanitizers take more than any limit: with them there is none.
void limit_memory(std::uint64_t more_bytes);

}  // namespace farport
