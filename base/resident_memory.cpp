#include "base/resident_memory.hpp"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>

#include <malloc.h>
#include <sys/mman.h>

namespace farport {
namespace {

struct FileClose {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

void return_large_memory() {
  // Named, it is no longer raised by what is freed (mallopt(3)): large pieces go back to the system at once.
  constexpr int kLarge = 256 * 1024;
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
}

void release_idle_memory() {
  ::malloc_trim(0);
  const std::unique_ptr<std::FILE, FileClose> maps(std::fopen("/proc/self/maps", "re"));
  char line[512];
  while (maps != nullptr && std::fgets(line, sizeof line, maps.get()) != nullptr) {
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    char permissions[5] = "";
    unsigned long inode = 0;
    const int fields =
        std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &start, &end, permissions, &inode);
    // Text that comes from a file and was never written to: nothing is lost, it is only read again.
    const bool text =
        permissions[0] == 'r' && permissions[1] == '-' && permissions[2] == 'x' && permissions[3] == 'p';
    if (fields == 4 && text && inode != 0) {
      ::madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTNEED);
    }
  }
}

}  // namespace farport
