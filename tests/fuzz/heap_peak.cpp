#include "tests/fuzz/heap_peak.hpp"

#include <algorithm>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FARPORT_COUNTS_HEAP
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define FARPORT_COUNTS_HEAP
#endif

#ifdef FARPORT_COUNTS_HEAP
// Of sanitizer/allocator_interface.h, which GCC's package has not.
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                              void (*on_free)(const volatile void*));
std::size_t __sanitizer_get_allocated_size(const volatile void* memory);
}
#endif

namespace farport::fuzz {

#ifdef FARPORT_COUNTS_HEAP
namespace {

// The sanitizer calls plain functions. A target runs on one thread.
std::ptrdiff_t now = 0;
std::ptrdiff_t most = 0;

void count(const volatile void*, std::size_t size) {
  now += static_cast<std::ptrdiff_t>(size);
  most = std::max(most, now);
}

void forget(const volatile void* memory) {
  if (memory == nullptr) return;
  now -= static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(memory));
}

}  // namespace

HeapPeak::HeapPeak() {
  static const bool installed = __sanitizer_install_malloc_and_free_hooks(count, forget) != 0;
  if (!installed) return;
  now = 0;
  most = 0;
}

std::size_t HeapPeak::bytes() const {
  return static_cast<std::size_t>(most);
}
#else
HeapPeak::HeapPeak() = default;

std::size_t HeapPeak::bytes() const {
  return 0;
}
#endif

}  // namespace farport::fuzz
