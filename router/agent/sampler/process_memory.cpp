#include "router/agent/sampler/process_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace farport::router {
namespace {

/// Of this size everywhere where stacks are walked.
constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kStackPages = 4;
/// 1 MiB.
constexpr std::size_t kMostRemembered = 256;

}  // namespace

const ProcessPages::Page* ProcessPages::page_at(std::uint64_t address) {
  const std::uint64_t number = address / kPage;
  if (pages_.size() == kMostRemembered && !pages_.contains(number)) pages_.clear();
  const auto [place, added] = pages_.try_emplace(number);
  Page& page = place->second;
  if (added) {
    page.resize(kPage);
    const ssize_t got = ::pread(memory_, page.data(), page.size(), static_cast<off_t>(number * kPage));
    if (got != static_cast<ssize_t>(kPage)) page.clear();
  }
  return page.empty() ? nullptr : &page;
}

bool ProcessPages::read(std::uint64_t address, std::span<std::byte> to) {
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

Result<ProcessMemory> ProcessMemory::open(pid_t process) {
  UniqueFd memory(::open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory) return fail_errno("open the memory of", "the process", errno);
  return ProcessMemory(std::move(memory));
}

Result<void> ProcessMemory::take_stack(std::uint64_t stack_pointer) {
  beyond_.forget();
  stack_.resize(kStackPages * kPage);
  // Ends where a page is not there.
  const ssize_t got = ::pread(memory_.get(), stack_.data(), stack_.size(), static_cast<off_t>(stack_pointer));
  stack_begin_ = stack_pointer;
  stack_size_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  if (got > 0) return {};
  return fail_errno("read the memory of", "the process", got < 0 ? errno : ESRCH);
}

bool ProcessMemory::read(std::uint64_t address, std::span<std::byte> to) {
  const std::uint64_t end = stack_begin_ + stack_size_;
  if (address < stack_begin_ || address >= end || to.size() > end - address) return beyond_.read(address, to);
  std::memcpy(to.data(), stack_.data() + (address - stack_begin_), to.size());
  return true;
}

}  // namespace farport::router
