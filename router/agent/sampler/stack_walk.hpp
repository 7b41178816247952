// Finding out who has called what on the stack of a thread that stands still, from its memory alone. Pure,
// but for the Memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "router/agent/sampler/address_space.hpp"
#include "router/agent/sampler/frame_rules.hpp"

namespace farport::router {

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
