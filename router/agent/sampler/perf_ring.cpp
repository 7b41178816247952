#include "router/agent/sampler/perf_ring.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace farport::router {
namespace {

/// For the data; a power of two. A stack takes a kilobyte at most, and they are read twenty times a second.
constexpr std::size_t kMostPages = 64;
constexpr std::size_t kLeastPages = 4;

std::size_t page_size() {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

Result<PerfRing> PerfRing::map(int counter) {
  for (std::size_t pages = kMostPages; pages >= kLeastPages; pages /= 2) {
    const std::size_t size = pages * page_size();
    void* const base = ::mmap(nullptr, page_size() + size, PROT_READ | PROT_WRITE, MAP_SHARED, counter, 0);
    if (base != MAP_FAILED) return PerfRing(static_cast<std::byte*>(base), size);
    if (errno != EPERM && errno != ENOMEM) break;
  }
  return fail_errno("have memory for", "the samples", errno,
                    "let other profiles end, or raise kernel.perf_event_mlock_kb");
}

PerfRing::PerfRing(PerfRing&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), size_(other.size_), record_(std::move(other.record_)) {}

PerfRing::~PerfRing() {
  if (base_ != nullptr) ::munmap(base_, page_size() + size_);
}

void PerfRing::read(PerfSink& sink) {
  auto* const control = reinterpret_cast<perf_event_mmap_page*>(base_);
  const std::byte* const data = base_ + page_size();
  std::atomic_ref<__u64> head(control->data_head);
  std::atomic_ref<__u64> tail(control->data_tail);
  const std::uint64_t end = head.load(std::memory_order_acquire);
  std::uint64_t place = tail.load(std::memory_order_relaxed);
  const auto copy = [&](std::uint64_t from, std::byte* to, std::size_t count) {
    const std::size_t offset = from % size_;
    const std::size_t first = std::min(count, size_ - offset);
    std::memcpy(to, data + offset, first);
    std::memcpy(to + first, data, count - first);
  };
  while (end - place >= sizeof(perf_event_header)) {
    perf_event_header header{};
    copy(place, reinterpret_cast<std::byte*>(&header), sizeof header);
    if (header.size < sizeof header || header.size > end - place) break;
    record_.resize(header.size);
    copy(place, record_.data(), header.size);
    place += header.size;
    read_perf_record(record_, sink);
  }
  tail.store(end, std::memory_order_release);
}

}  // namespace farport::router
