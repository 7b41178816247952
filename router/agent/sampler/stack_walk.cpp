#include "router/agent/sampler/stack_walk.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace farport::router {
namespace {

/// As many as the kernel shows of a stack.
constexpr std::size_t kMostFrames = 127;
/// About 1 MiB of them.
constexpr std::size_t kMostRules = 8192;
/// How far a frame pointer is looked for.
constexpr std::uint64_t kSearched = 16 * 1024;
/// No stack is larger.
constexpr std::uint64_t kFarthest = std::uint64_t{1} << 30U;
constexpr std::uint64_t kWord = 8;

struct KeptFrame {
  std::uint64_t frame_pointer;   ///< The caller's.
  std::uint64_t return_address;  ///< Where the caller goes on.
};

/// Whether a frame's end can be `end`, of one that is called with this stack pointer.
bool is_beyond(std::uint64_t end, std::uint64_t stack_pointer) {
  return end > stack_pointer && end - stack_pointer < kFarthest && end % kWord == 0;
}

/// How a function of compiled code mostly begins, as far as it moves the stack pointer.
class Beginning {
 public:
  explicit Beginning(std::span<const std::uint8_t> code) : code_(code) {}

  /// How far behind the stack pointer the frame pointer is from then on. None: it begins in another way.
  std::optional<std::uint64_t> distance() {
    std::ignore = take({0xF3, 0x0F, 0x1E, 0xFA});
    if (!take({0x55}) || !take({0x48, 0x89, 0xE5})) return std::nullopt;
    std::uint64_t pushed = 0;
    while (take_push()) pushed += kWord;
    if (take({0x48, 0x83, 0xEC})) return pushed + byte();
    if (take({0x48, 0x81, 0xEC})) {
      std::uint64_t size = 0;
      for (unsigned shift = 0; shift < 32; shift += 8) size |= byte() << shift;
      return pushed + size;
    }
    return pushed;
  }
  [[nodiscard]] std::size_t size() const { return at_; }

 private:
  bool take(std::initializer_list<std::uint8_t> bytes) {
    if (code_.size() - at_ < bytes.size() ||
        !std::equal(bytes.begin(), bytes.end(), code_.begin() + static_cast<std::ptrdiff_t>(at_)))
      return false;
    at_ += bytes.size();
    return true;
  }
  /// Of one of the registers that a function has to keep, or for the stack's alignment.
  bool take_push() {
    return take({0x53}) || take({0x50}) || take({0x41, 0x54}) || take({0x41, 0x55}) || take({0x41, 0x56}) ||
           take({0x41, 0x57});
  }
  std::uint64_t byte() { return at_ < code_.size() ? code_[at_++] : 0; }

  std::span<const std::uint8_t> code_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::uint64_t> StackWalk::walk(const StoppedAt& at) {
  std::vector<std::uint64_t> stack{at.instruction};
  Registers registers{at.instruction, at.stack_pointer, std::nullopt};
  searched_ = false;
  // What is known of a caller is the place behind its call, where something else may begin.
  for (std::uint64_t behind = 0; stack.size() < kMostFrames; behind = 1) {
    if (!step(registers, registers.instruction - behind) || space_.find(registers.instruction - 1) == nullptr)
      break;
    stack.push_back(registers.instruction);
  }
  return stack;
}

void StackWalk::forget() {
  indexes_.clear();
  rules_.clear();
}

bool StackWalk::step(Registers& registers, std::uint64_t inside) {
  const std::optional<FrameRules>& rules = rules_at(inside);
  if (rules && rules->outermost) return false;
  return rules ? step_by_rules(registers, *rules) : step_by_frame_pointer(registers);
}

bool StackWalk::step_by_rules(Registers& registers, const FrameRules& rules) {
  std::uint64_t base = registers.stack_pointer;
  if (rules.from_frame_pointer) {
    if (!registers.frame_pointer) registers.frame_pointer = frame_by_beginning(registers, rules.function);
    if (!registers.frame_pointer) registers.frame_pointer = frame_by_search(registers.stack_pointer);
    if (!registers.frame_pointer) return false;
    base = *registers.frame_pointer;
  }
  const std::uint64_t end = base + static_cast<std::uint64_t>(rules.offset);
  if (!is_beyond(end, registers.stack_pointer)) return false;
  const auto returns =
      value_at<std::uint64_t>(stack_, end + static_cast<std::uint64_t>(rules.return_address));
  if (!returns) return false;
  if (rules.frame_pointer) {
    registers.frame_pointer =
        value_at<std::uint64_t>(stack_, end + static_cast<std::uint64_t>(*rules.frame_pointer));
  }
  registers.instruction = *returns;
  registers.stack_pointer = end;
  return true;
}

bool StackWalk::step_by_frame_pointer(Registers& registers) {
  if (!registers.frame_pointer) registers.frame_pointer = frame_by_search(registers.stack_pointer);
  if (!registers.frame_pointer || !is_beyond(*registers.frame_pointer + kWord, registers.stack_pointer))
    return false;
  const auto frame = value_at<KeptFrame>(stack_, *registers.frame_pointer);
  if (!frame) return false;
  registers.stack_pointer = *registers.frame_pointer + sizeof(KeptFrame);
  registers.frame_pointer = frame->frame_pointer;
  registers.instruction = frame->return_address;
  return true;
}

const std::optional<FrameRules>& StackWalk::rules_at(std::uint64_t instruction) {
  const auto known = rules_.find(instruction);
  if (known != rules_.end()) return known->second;
  if (rules_.size() == kMostRules) rules_.clear();
  return rules_.emplace(instruction, look_up(instruction)).first->second;
}

std::optional<FrameRules> StackWalk::look_up(std::uint64_t instruction) {
  const MappedFile* const file = space_.find(instruction);
  if (file == nullptr || file->base == 0) return std::nullopt;
  const auto [index, added] = indexes_.try_emplace(file->base);
  if (added) index->second = find_frame_index(code_, file->base);
  return index->second ? frame_rules_at(code_, *index->second, instruction) : std::nullopt;
}

std::optional<std::uint64_t> StackWalk::frame_by_beginning(const Registers& registers,
                                                           std::uint64_t function) {
  constexpr std::size_t kLongest = 48;
  const auto code = value_at<std::array<std::uint8_t, kLongest>>(code_, function);
  if (!code) return std::nullopt;
  Beginning beginning(*code);
  const auto distance = beginning.distance();
  if (!distance || registers.instruction < function + beginning.size()) return std::nullopt;
  const std::uint64_t frame = registers.stack_pointer + *distance;
  return is_frame(frame) ? std::optional(frame) : std::nullopt;
}

std::optional<std::uint64_t> StackWalk::frame_by_search(std::uint64_t stack_pointer) {
  // A walk that searches again has lost its way.
  if (std::exchange(searched_, true)) return std::nullopt;
  for (std::uint64_t place = stack_pointer; place < stack_pointer + kSearched; place += kWord) {
    const auto kept = value_at<std::uint64_t>(stack_, place);
    if (!kept) return std::nullopt;
    if (is_beyond(*kept, place) && is_frame(place)) return place;
  }
  return std::nullopt;
}

/// Whether what is there may be a frame pointer that was kept, and behind it where its function returns to.
bool StackWalk::is_frame(std::uint64_t address) {
  const auto frame = value_at<KeptFrame>(stack_, address);
  return frame && returns_behind_call(frame->return_address);
}

bool StackWalk::returns_behind_call(std::uint64_t address) {
  if (space_.find(address) == nullptr) return false;
  constexpr std::size_t kLongest = 7;
  const auto code = value_at<std::array<std::uint8_t, kLongest>>(code_, address - kLongest);
  if (!code) return false;
  // Calls are E8 with four bytes, or FF of which the second byte's middle says that it is one.
  if ((*code)[kLongest - 5] == 0xE8) return true;
  for (const std::size_t size : {2U, 3U, 4U, 6U, 7U}) {
    const std::size_t place = kLongest - size;
    if ((*code)[place] == 0xFF && ((*code)[place + 1] & 0x38U) == 0x10) return true;
  }
  return false;
}

}  // namespace farport::router
