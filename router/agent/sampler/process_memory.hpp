// What is in the memory of another process, which goes on meanwhile.
#pragma once

#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/sampler/frame_rules.hpp"

namespace farport::router {

/// Pages of it that have been read, and are remembered.
class ProcessPages final : public Memory {
 public:
  explicit ProcessPages(int memory) : memory_(memory) {}

  bool read(std::uint64_t address, std::span<std::byte> to) override;
  void forget() { pages_.clear(); }

 private:
  using Page = std::vector<std::byte>;
  [[nodiscard]] const Page* page_at(std::uint64_t address);

  int memory_;
  std::unordered_map<std::uint64_t, Page> pages_;  ///< By their numbers; one that can't be read is empty.
};

class ProcessMemory final : public Memory {
 public:
  /// Of a process that this one may look into (proc(5), /proc/PID/mem: process_vm_readv(2) reads the same,
  /// but many engines filter it). Errors: the system's (`cause`).
  [[nodiscard]] static Result<ProcessMemory> open(pid_t process);

  /// Reads what lies behind a thread's stack pointer, some pages of it, in one go, and forgets all that was
  /// read before. Errors: nothing is there.
  [[nodiscard]] Result<void> take_stack(std::uint64_t stack_pointer);
  /// The stack that was taken, and what lies beyond.
  bool read(std::uint64_t address, std::span<std::byte> to) override;
  /// Code, and what is written down about it: it stays what it is until this is told to forget it.
  [[nodiscard]] ProcessPages& code() { return code_; }

 private:
  explicit ProcessMemory(UniqueFd memory)
      : memory_(std::move(memory)), beyond_(memory_.get()), code_(memory_.get()) {}

  UniqueFd memory_;
  std::uint64_t stack_begin_ = 0;
  std::size_t stack_size_ = 0;
  std::vector<std::byte> stack_;
  ProcessPages beyond_;
  ProcessPages code_;
};

}  // namespace farport::router
