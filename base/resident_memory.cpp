#include "base/resident_memory.hpp"

#include <malloc.h>

namespace farport {

void return_large_memory() {
  // Named, it is no longer raised by what is freed (mallopt(3)): large pieces go back to the system at once.
  constexpr int kLarge = 256 * 1024;
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
}

void return_free_memory() {
  ::malloc_trim(0);
}

}  // namespace farport
