#include "base/resident_memory.hpp"

#include <cstddef>
#include <cstdint>

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

namespace farport {
namespace {

/// Drops what is mapped of a program's or library's text and constants: pages of a file that nobody writes
/// to, so that nothing is lost. What the dynamic linker writes to is in writable segments (RELRO included).
int drop_constant_pages(dl_phdr_info* object, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::getpagesize());
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
    // An address is what program headers have. NOLINTNEXTLINE(performance-no-int-to-ptr)
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void return_large_memory() {
  // Named, it is no longer raised by what is freed (mallopt(3)): large pieces go back to the system at once.
  constexpr int kLarge = 256 * 1024;
  ::mallopt(M_MMAP_THRESHOLD, kLarge);
}

void return_free_memory() {
  ::malloc_trim(0);
}

void release_start_memory() {
  return_free_memory();
  ::dl_iterate_phdr(drop_constant_pages, nullptr);
}

}  // namespace farport
