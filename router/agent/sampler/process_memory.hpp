// What is in the memory of another process, which goes on meanwhile.
#pragma once

#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/sampler/frame_rules.hpp"

namespace farport::router {

class ProcessMemory final : public Memory {
 public:
  /// Of a process that this one may look into (proc(5), /proc/PID/mem: process_vm_readv(2) reads the same,
  /// but many engines filter it). Errors: the system's (`cause`).
  [[nodiscard]] static Result<ProcessMemory> open(pid_t process);

  /// Reads what lies behind a thread's stack pointer, some pages of it, in one go, and forgets all that was
  /// read before. Errors: the system's (`cause`).
  [[nodiscard]] Result<void> take_stack(std::uint64_t stack_pointer);
  /// The end of what take_stack() has read.
  [[nodiscard]] std::uint64_t stack_end() const { return stack_begin_ + stack_size_; }

  /// So many pages beside the stack can be read until take_stack() is called again.
  static constexpr std::size_t kMostPages = 64;

  bool read(std::uint64_t address, std::span<std::byte> to) override;

 private:
  using Page = std::vector<std::byte>;
  [[nodiscard]] const Page* page_at(std::uint64_t address);

  explicit ProcessMemory(UniqueFd memory) : memory_(std::move(memory)) {}

  UniqueFd memory_;
  std::uint64_t stack_begin_ = 0;
  std::size_t stack_size_ = 0;
  std::vector<std::byte> stack_;
  std::unordered_map<std::uint64_t, Page> pages_;  ///< By their numbers; one that can't be read is empty.
};

}  // namespace farport::router
