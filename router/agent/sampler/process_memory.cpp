#include "router/agent/sampler/process_memory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <sys/uio.h>

namespace farport::router {
namespace {

/// Of this size everywhere where stacks are walked.
constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kStackPages = 4;

void* pointer_to(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): it is another process's.
}

}  // namespace

Result<void> ProcessMemory::take_stack(std::uint64_t stack_pointer) {
  pages_.clear();
  stack_.resize(kStackPages * kPage);
  // A page each, so that one which is not there leaves those before it.
  std::array<iovec, kStackPages> there{};
  std::uint64_t from = stack_pointer;
  for (iovec& part : there) {
    part = {pointer_to(from), kPage - from % kPage};
    from += part.iov_len;
  }
  const iovec here{stack_.data(), stack_.size()};
  const ssize_t got = ::process_vm_readv(process_, &here, 1, there.data(), there.size(), 0);
  stack_begin_ = stack_pointer;
  stack_size_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  if (got < 0) return fail_errno("read the memory of", "the process", errno);
  return {};
}

const ProcessMemory::Page* ProcessMemory::page_at(std::uint64_t address) {
  const std::uint64_t number = address / kPage;
  if (pages_.size() == kMostPages && !pages_.contains(number)) return nullptr;
  const auto [place, added] = pages_.try_emplace(number);
  Page& page = place->second;
  if (added) {
    page.resize(kPage);
    const iovec here{page.data(), page.size()};
    const iovec there{pointer_to(number * kPage), kPage};
    if (::process_vm_readv(process_, &here, 1, &there, 1, 0) != static_cast<ssize_t>(kPage)) page.clear();
  }
  return page.empty() ? nullptr : &page;
}

bool ProcessMemory::read(std::uint64_t address, std::span<std::byte> to) {
  if (address >= stack_begin_ && address < stack_end() && to.size() <= stack_end() - address) {
    std::memcpy(to.data(), stack_.data() + (address - stack_begin_), to.size());
    return true;
  }
  while (!to.empty()) {
    const Page* const page = page_at(address);
    if (page == nullptr) return false;
    const std::uint64_t place = address % kPage;
    const std::size_t size = std::min<std::size_t>(to.size(), kPage - place);
    std::memcpy(to.data(), page->data() + place, size);
    to = to.subspan(size);
    address += size;
  }
  return true;
}

}  // namespace farport::router
