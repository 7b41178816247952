// Finding out who has called what on the stack of a thread that stands still, from its memory alone. Pure,
// but for the Memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "router/agent/sampler/address_space.hpp"

namespace farport::router {

// Where a function's frame keeps what is its caller's: what compilers write down for exceptions, beside the
// code
// (.eh_frame and .eh_frame_hdr: Linux Standard Base, Core, 10.6; DWARF 4, 6.4). Pure.

/// The memory of a process, which may hold anything.
class Memory {
 public:
  /// Whether all of it could be read.
  virtual bool read(std::uint64_t address, std::span<std::byte> to) = 0;

 protected:
  ~Memory() = default;
};

template <typename Value>
std::optional<Value> value_at(Memory& memory, std::uint64_t address) {
  std::array<std::byte, sizeof(Value)> bytes{};
  if (!memory.read(address, bytes)) return std::nullopt;
  Value value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

/// What finds a function's record, in the memory of a process.
struct FrameIndex {
  std::uint64_t address = 0;  ///< Of .eh_frame_hdr.
  std::uint32_t functions = 0;
};

/// Of the ELF file whose first byte is at `base` (elf(5)). None: it has none, or not in the usual form.
[[nodiscard]] std::optional<FrameIndex> find_frame_index(Memory& memory, std::uint64_t base);

/// How to come from a function's frame to its caller's. The frame's end is `offset` behind one of two
/// registers.
struct FrameRules {
  bool from_frame_pointer = false;  ///< Else from the stack pointer.
  std::int64_t offset = 0;
  std::int64_t return_address = 0;  ///< Where that is, counted from the frame's end.
  /// Where the caller's frame pointer is, counted from the frame's end; none: still in its register.
  std::optional<std::int64_t> frame_pointer;
  std::uint64_t function = 0;  ///< Where it begins.
  bool outermost = false;      ///< It has no caller.
};

/// Those at an instruction. None: nobody knows, or they need more than these registers.
[[nodiscard]] std::optional<FrameRules> frame_rules_at(Memory& memory, const FrameIndex& index,
                                                       std::uint64_t instruction);

/// The registers of a thread, as far as the kernel shows them.
struct StoppedAt {
  std::uint64_t instruction = 0;
  std::uint64_t stack_pointer = 0;
};

class StackWalk {
 public:
  /// `stack`: the memory as it is on a walk; `code`: as far as it stays what it is until forget(); `space`:
  /// what may be executed. All must outlive it.
  StackWalk(Memory& stack, Memory& code, const AddressSpace& space)
      : stack_(stack), code_(code), space_(space) {}

  /// The instruction, then where each caller goes on, the innermost first; 127 of them at most. Ends where
  /// nothing is known of a caller. Compilers say how to come from most functions to their callers; compiled
  /// methods and the runtime keep frame pointers. Where the frame pointer is not known, since the kernel does
  /// not tell it and nothing on the way has kept it, it is worked out from how the function begins, else
  /// looked for.
  [[nodiscard]] std::vector<std::uint64_t> walk(const StoppedAt& at);

  /// What is known of files is forgotten: others may be in their places.
  void forget();

 private:
  struct Registers {
    std::uint64_t instruction;
    std::uint64_t stack_pointer;
    std::optional<std::uint64_t> frame_pointer;
  };
  /// Whether there is a caller.
  bool step(Registers& registers, std::uint64_t inside);
  bool step_by_rules(Registers& registers, const FrameRules& rules);
  bool step_by_frame_pointer(Registers& registers);
  const std::optional<FrameRules>& rules_at(std::uint64_t instruction);
  [[nodiscard]] std::optional<FrameRules> look_up(std::uint64_t instruction);
  [[nodiscard]] std::optional<std::uint64_t> frame_by_beginning(const Registers& registers,
                                                                std::uint64_t function);
  [[nodiscard]] std::optional<std::uint64_t> frame_by_search(std::uint64_t stack_pointer);
  [[nodiscard]] bool is_frame(std::uint64_t address);
  [[nodiscard]] bool returns_behind_call(std::uint64_t address);

  Memory& stack_;
  Memory& code_;
  bool searched_ = false;  ///< For a frame pointer, on the walk in hand.
  const AddressSpace& space_;
  std::map<std::uint64_t, std::optional<FrameIndex>> indexes_;  ///< By where their files begin.
  std::unordered_map<std::uint64_t, std::optional<FrameRules>> rules_;
};

}  // namespace farport::router
