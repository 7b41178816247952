// Where a function's frame keeps what is its caller's: what compilers write down for exceptions, beside the
// code
// (.eh_frame and .eh_frame_hdr: Linux Standard Base, Core, 10.6; DWARF 4, 6.4). Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace farport::router {

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

}  // namespace farport::router
