// StackWalk: finds the callers on the stack of a thread that stands still, from memory alone. Pure, except
// for Memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <istream>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "router/agent/sampler/perf_record.hpp"

namespace farport::router {

// AddressSpace: which files are mapped where in a process's memory.

using TakeMapped = std::function<void(MappedFile)>;

/// Passes the executable mappings in the text of /proc/PID/maps (proc(5)) to `take`, in its order. Skips
/// malformed lines, and what comes after 16 MiB of text.
void read_maps(std::istream& maps, const TakeMapped& take);

/// The same for a running process. Passes nothing if its maps can't be read.
void read_maps_of(pid_t process, const TakeMapped& take);

/// Mappings that don't overlap: a new one replaces what it overlaps.
class AddressSpace {
 public:
  /// Adds a mapping. Adds nothing more once they take 2 MiB of memory, since a process may have 65,530 of
  /// them (vm.max_map_count) with paths of 4 KiB.
  void add(MappedFile file);
  /// The mapping at an address, or nullptr.
  [[nodiscard]] const MappedFile* find(std::uint64_t address) const;
  [[nodiscard]] std::size_t size() const { return files_.size(); }

 private:
  using Files = std::map<std::uint64_t, MappedFile>;
  Files::iterator remove(Files::iterator each);
  Files::iterator put(MappedFile file);

  Files files_;            ///< By start address.
  std::size_t bytes_ = 0;  ///< The memory that they take.
};

/// The memory of a process. It may hold anything.
class Memory {
 public:
  /// Returns whether all bytes could be read.
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

/// The index by which the record of a function is found (.eh_frame_hdr), in the memory of a process.
struct FrameIndex {
  std::uint64_t address = 0;  ///< Where .eh_frame_hdr is.
  std::uint32_t functions = 0;
};

/// The index of the ELF file whose first byte is at `base` (elf(5)). Nothing if it has none, or one in an
/// unusual form.
[[nodiscard]] std::optional<FrameIndex> find_frame_index(Memory& memory, std::uint64_t base);

/// How to get from a function's frame to its caller's, as compilers record it for exceptions (.eh_frame:
/// Linux Standard Base, Core, 10.6; DWARF 4, 6.4). The frame ends at `offset` from one of two registers.
struct FrameRules {
  bool from_frame_pointer = false;  ///< Otherwise from the stack pointer.
  std::int64_t offset = 0;
  std::int64_t return_address = 0;  ///< Where it is kept, relative to the frame's end.
  /// Where the caller's frame pointer is kept, relative to the frame's end; nothing if it is still in its
  /// register.
  std::optional<std::int64_t> frame_pointer;
  std::uint64_t function = 0;  ///< Where the function begins.
  bool outermost = false;      ///< It has no caller.
};

/// The rules at an instruction. Nothing if there are none, or they need other registers.
[[nodiscard]] std::optional<FrameRules> frame_rules_at(Memory& memory, const FrameIndex& index,
                                                       std::uint64_t instruction);

/// The registers of a thread that the kernel shows.
struct ThreadRegisters {
  std::uint64_t instruction = 0;
  std::uint64_t stack_pointer = 0;
};

/// Walks stacks.
class StackWalk {
 public:
  /// `stack` is the memory during a walk; `code` is memory that does not change until forget(); `space` is
  /// what may be executed. All must outlive this object.
  StackWalk(Memory& stack, Memory& code, const AddressSpace& space)
      : stack_(stack), code_(code), space_(space) {}

  /// Returns the instruction, and then the return address of each caller, innermost first; 127 addresses at
  /// most. Ends where nothing is known of a caller. Most functions have rules for finding their callers;
  /// compiled methods and the runtime keep frame pointers. The kernel does not show the frame pointer. Until
  /// a frame has saved it, it is computed from how the function begins, or else searched for.
  [[nodiscard]] std::vector<std::uint64_t> walk(const ThreadRegisters& at);

  /// Forgets what is known of files, since others may have been mapped in their place.
  void forget();

 private:
  struct Registers {
    std::uint64_t instruction;
    std::uint64_t stack_pointer;
    std::optional<std::uint64_t> frame_pointer;
  };
  /// Goes on to the caller. Returns false if there is none.
  bool step(Registers& registers, std::uint64_t inside);
  bool step_by_rules(Registers& registers, const FrameRules& rules);
  bool step_by_frame_pointer(Registers& registers);
  const std::optional<FrameRules>& rules_at(std::uint64_t instruction);
  [[nodiscard]] std::optional<FrameRules> look_up(std::uint64_t instruction);
  [[nodiscard]] std::optional<std::uint64_t> frame_by_prologue(const Registers& registers,
                                                               std::uint64_t function);
  [[nodiscard]] std::optional<std::uint64_t> frame_by_search(std::uint64_t stack_pointer);
  [[nodiscard]] bool is_frame(std::uint64_t address);
  [[nodiscard]] bool returns_behind_call(std::uint64_t address);

  Memory& stack_;
  Memory& code_;
  bool searched_ = false;  ///< Whether this walk has searched for a frame pointer.
  const AddressSpace& space_;
  std::map<std::uint64_t, std::optional<FrameIndex>> indexes_;  ///< By the start of their files.
  std::unordered_map<std::uint64_t, std::optional<FrameRules>> rules_;
};

}  // namespace farport::router
