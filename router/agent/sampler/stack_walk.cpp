#include "router/agent/sampler/stack_walk.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <elf.h>

#include "base/process_stat.hpp"
#include "nettrace/cursor.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kMaxMapBytes = std::size_t{2} << 20U;

/// The memory that a file takes, including what a map and the allocator add.
std::size_t size_of(const MappedFile& file) {
  return sizeof file + 64 + file.path.size();
}

/// Takes a hexadecimal number and the character behind it from the front of `line`.
std::optional<std::uint64_t> take_hex(std::string_view& line, char behind) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  const auto size = static_cast<std::size_t>(end - line.data());
  if (error != std::errc() || size >= line.size() || line[size] != behind) return std::nullopt;
  line.remove_prefix(size + 1);
  return value;
}

struct MappedPart {
  MappedFile file;
  bool may_execute = false;
};

/// "START-END PERMISSIONS OFFSET DEVICE INODE   PATH"
std::optional<MappedPart> parse_line(std::string_view line) {
  constexpr std::size_t kExecute = 2;
  const auto start = take_hex(line, '-');
  if (!start) return std::nullopt;
  const auto end = take_hex(line, ' ');
  if (!end || *end <= *start || line.size() < 5) return std::nullopt;
  const bool may_execute = line[kExecute] == 'x';
  line.remove_prefix(5);
  const auto offset = take_hex(line, ' ');
  if (!offset) return std::nullopt;
  // Skip the device and the inode, and the blanks up to the path.
  for (int field = 0; field < 2; ++field) {
    line.remove_prefix(std::min(line.find(' '), line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  }
  return MappedPart{{*start, *end, *offset, std::string(line)}, may_execute};
}

}  // namespace

void read_maps(std::istream& maps, const TakeMapped& take) {
  constexpr std::size_t kMaxMaps = 16U << 20U;
  // The last file whose first byte is mapped; its other parts follow it.
  std::string beginning;
  std::uint64_t base = 0;
  std::size_t text = 0;
  // The kernel writes a newline in a path as \012.
  for (std::string line; text < kMaxMaps && std::getline(maps, line); text += line.size()) {
    auto part = parse_line(line);
    if (!part) continue;
    if (part->file.offset == 0 && part->file.path.starts_with('/')) {
      beginning = part->file.path;
      base = part->file.start;
    }
    if (!part->may_execute) continue;
    if (base != 0 && part->file.path == beginning) part->file.base = base;
    take(std::move(part->file));
  }
}

void read_maps_of(pid_t process, const TakeMapped& take) {
  std::ifstream maps(directory_of_process(process) + "/maps");
  read_maps(maps, take);
}

void AddressSpace::add(MappedFile file) {
  auto each = files_.upper_bound(file.start);
  if (each != files_.begin()) --each;
  while (each != files_.end() && each->second.start < file.end) {
    MappedFile old = each->second;
    if (old.end <= file.start) {
      ++each;
      continue;
    }
    each = remove(each);
    if (old.end > file.end) {
      MappedFile rest = old;
      rest.offset += file.end - old.start;
      rest.start = file.end;
      each = put(std::move(rest));
    }
    if (old.start < file.start) {
      old.end = file.start;
      put(std::move(old));
    }
  }
  put(std::move(file));
}

AddressSpace::Files::iterator AddressSpace::remove(Files::iterator each) {
  bytes_ -= size_of(each->second);
  return files_.erase(each);
}

AddressSpace::Files::iterator AddressSpace::put(MappedFile file) {
  if (bytes_ + size_of(file) > kMaxMapBytes) return files_.upper_bound(file.start);
  bytes_ += size_of(file);
  const std::uint64_t start = file.start;
  return files_.emplace(start, std::move(file)).first;
}

const MappedFile* AddressSpace::find(std::uint64_t address) const {
  const auto after = files_.upper_bound(address);
  if (after == files_.begin()) return nullptr;
  const MappedFile& file = std::prev(after)->second;
  return address < file.end ? &file : nullptr;
}

namespace {

using nettrace::Cursor;

/// The numbers of registers in DWARF for x86-64 (its ABI, "DWARF Register Number Mapping").
constexpr std::uint64_t kFramePointer = 6;
constexpr std::uint64_t kStackPointer = 7;
constexpr std::uint64_t kReturnAddress = 16;

constexpr std::uint32_t kMaxFunctions = 1U << 22U;
constexpr std::size_t kMaxSegments = 64;
/// The most bytes of a record. The longest seen has some hundred.
constexpr std::uint32_t kMaxRecord = 4096;
constexpr std::size_t kMaxKept = 16;

/// The usual encodings of addresses (Linux Standard Base, Core, 10.5).
constexpr std::uint8_t kUdata4 = 0x03;
constexpr std::uint8_t kPcRelSdata4 = 0x1B;    ///< Four bytes, signed, relative to their own address.
constexpr std::uint8_t kDataRelSdata4 = 0x3B;  ///< The same, relative to the start of the index.
constexpr std::uint8_t kOmit = 0xFF;

std::uint64_t moved(std::uint64_t address, std::int64_t by) {
  return address + static_cast<std::uint64_t>(by);
}

/// DWARF 4, 7.6: signed LEB128.
std::int64_t signed_number(Cursor& from) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const std::uint8_t byte = from.u8();
    value |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) != 0) continue;
    if ((byte & 0x40U) != 0 && shift + 7 < 64) value |= ~std::uint64_t{0} << (shift + 7);
    break;
  }
  return static_cast<std::int64_t>(value);
}

std::int64_t times(std::uint64_t count, std::int64_t unit) {
  return static_cast<std::int64_t>(count * static_cast<std::uint64_t>(unit));
}

/// A record of .eh_frame, without its length.
struct EhFrameEntry {
  std::uint64_t address = 0;  ///< Where its first byte is in memory.
  std::vector<std::byte> bytes;
  [[nodiscard]] Cursor cursor() const { return Cursor(bytes, address); }
};

std::optional<EhFrameEntry> record_at(Memory& memory, std::uint64_t address) {
  const auto size = value_at<std::uint32_t>(memory, address);
  // The value that announces a longer record than four gigabytes is above the limit as well.
  if (!size || *size < sizeof(std::uint32_t) || *size > kMaxRecord) return std::nullopt;
  EhFrameEntry record{address + sizeof *size, std::vector<std::byte>(*size)};
  if (!memory.read(record.address, record.bytes)) return std::nullopt;
  return record;
}

/// The size of an address in this encoding; 0 if the encoding is unusual.
std::size_t size_of_address(std::uint8_t form) {
  constexpr std::uint8_t kWhere = 0x70;
  constexpr std::uint8_t kAligned = 0x50;
  if ((form & kWhere) == kAligned) return 0;
  switch (form & 0x0FU) {
    case 0x00:
    case 0x04:
    case 0x0C:
      return 8;
    case 0x03:
    case 0x0B:
      return 4;
    default:
      return 0;
  }
}

/// What the records of several functions share (a CIE).
struct CommonInfoEntry {
  std::uint64_t code_unit = 1;
  std::int64_t data_unit = 1;
  bool augmented = false;  ///< Their records give the size of what follows the range.
  nettrace::BytesView first_rules;
};

/// Decodes it from a record, which must outlive it. Returns nothing if something in it isn't supported.
std::optional<CommonInfoEntry> parse_cie(const EhFrameEntry& record) {
  Cursor cursor = record.cursor();
  if (cursor.u32() != 0) return std::nullopt;
  const std::uint8_t version = cursor.u8();
  std::string text;
  for (char each = 0; (each = static_cast<char>(cursor.u8())) != 0 && text.size() < 8;) text += each;
  CommonInfoEntry common;
  common.code_unit = cursor.var_u64();
  common.data_unit = signed_number(cursor);
  const std::uint64_t returns_to = version == 1 ? cursor.u8() : cursor.var_u64();
  if ((version != 1 && version != 3) || returns_to != kReturnAddress) return std::nullopt;
  common.augmented = text.starts_with('z');
  // Signal frames ('S') and other augmentations aren't supported.
  if (!common.augmented || text.find_first_not_of("zPLR") != std::string::npos) return std::nullopt;
  Cursor rest = cursor.part(cursor.var_u64());
  bool from_here = false;
  for (const char each : std::string_view(text).substr(1)) {
    const std::uint8_t form = rest.u8();
    if (each == 'R') from_here = form == kPcRelSdata4;
    if (each != 'P') continue;
    // Skip the address of the exception handler.
    const std::size_t size = size_of_address(form);
    if (size == 0) return std::nullopt;
    std::ignore = rest.take(size);
  }
  if (!from_here) return std::nullopt;
  common.first_rules = cursor.take_rest();
  if (cursor.failed() || rest.failed()) return std::nullopt;
  return common;
}

/// The rules at an instruction, found by executing a record up to there.
class CfiInterpreter {
 public:
  CfiInterpreter(const CommonInfoEntry& common, std::uint64_t begin, std::uint64_t instruction)
      : common_(common), at_(begin), instruction_(instruction) {
    rules_.function = begin;
  }

  /// Executes instructions. Returns false if there is one that isn't supported.
  bool follow(Cursor cursor) {
    while (!cursor.at_end() && at_ <= instruction_) {
      if (!step(cursor) || cursor.failed()) return false;
    }
    return true;
  }
  /// Remembers the present rules as the initial ones of a function.
  void keep_as_first() { first_ = state(); }

  [[nodiscard]] std::optional<FrameRules> rules() const {
    FrameRules rules = rules_;
    if (rules.outermost) return rules;
    if (!known_ || !returns_) return std::nullopt;
    rules.return_address = *returns_;
    return rules;
  }

 private:
  struct State {
    FrameRules rules;
    bool known = false;
    std::optional<std::int64_t> returns;
  };
  [[nodiscard]] State state() const { return {rules_, known_, returns_}; }
  void restore(const State& state) {
    rules_ = state.rules;
    known_ = state.known;
    returns_ = state.returns;
  }

  bool step(Cursor& cursor) {
    const std::uint8_t code = cursor.u8();
    const std::uint64_t low = code & 0x3FU;
    switch (code & 0xC0U) {
      case 0x40:
        return advance(low);
      case 0x80:
        return kept(low, times(cursor.var_u64(), common_.data_unit));
      case 0xC0:
        return as_at_first(low);
      default:
        return step_extended(code, cursor);
    }
  }

  /// Opcodes of DWARF 4, 7.23; the last one is GNU's.
  bool step_extended(std::uint8_t code, Cursor& cursor) {
    switch (code) {
      case 0x00:
        return true;
      case 0x02:
        return advance(cursor.u8());
      case 0x03:
        return advance(cursor.u16());
      case 0x04:
        return advance(cursor.u32());
      case 0x05: {
        const std::uint64_t number = cursor.var_u64();
        return kept(number, times(cursor.var_u64(), common_.data_unit));
      }
      case 0x06:
        return as_at_first(cursor.var_u64());
      case 0x07:
        return lost(cursor.var_u64());
      case 0x08:
        return unchanged(cursor.var_u64());
      case 0x0A:
        return remember();
      case 0x0B:
        return recall();
      case 0x0C: {
        const std::uint64_t number = cursor.var_u64();
        return ends_at(number, static_cast<std::int64_t>(cursor.var_u64()));
      }
      case 0x0D:
        return ends_at(cursor.var_u64(), rules_.offset);
      case 0x0E:
        return moves_end(static_cast<std::int64_t>(cursor.var_u64()));
      case 0x0F:
        return computed_end(cursor);
      case 0x10:
      case 0x16:
        return computed(cursor);
      case 0x11: {
        const std::uint64_t number = cursor.var_u64();
        return kept(number, times(static_cast<std::uint64_t>(signed_number(cursor)), common_.data_unit));
      }
      case 0x12: {
        const std::uint64_t number = cursor.var_u64();
        return ends_at(number, times(static_cast<std::uint64_t>(signed_number(cursor)), common_.data_unit));
      }
      case 0x13:
        return moves_end(times(static_cast<std::uint64_t>(signed_number(cursor)), common_.data_unit));
      case 0x2E:
        std::ignore = cursor.var_u64();
        return true;
      default:
        return false;
    }
  }

  bool advance(std::uint64_t units) {
    at_ += units * common_.code_unit;
    return true;
  }
  bool kept(std::uint64_t number, std::int64_t where) {
    if (number == kFramePointer) rules_.frame_pointer = where;
    if (number == kReturnAddress) returns_ = where;
    return true;
  }
  bool as_at_first(std::uint64_t number) {
    if (number == kFramePointer) rules_.frame_pointer = first_.rules.frame_pointer;
    if (number == kReturnAddress) returns_ = first_.returns;
    return true;
  }
  /// An undefined return address says that a function has no caller.
  bool lost(std::uint64_t number) {
    if (number == kReturnAddress) rules_.outermost = true;
    return number != kFramePointer;
  }
  bool unchanged(std::uint64_t number) {
    if (number == kFramePointer) rules_.frame_pointer.reset();
    return number != kReturnAddress;
  }
  bool remember() {
    if (kept_.size() == kMaxKept) return false;
    kept_.push_back(state());
    return true;
  }
  bool recall() {
    if (kept_.empty()) return false;
    restore(kept_.back());
    kept_.pop_back();
    return true;
  }
  bool ends_at(std::uint64_t number, std::int64_t offset) {
    rules_.from_frame_pointer = number == kFramePointer;
    known_ = number == kFramePointer || number == kStackPointer;
    return moves_end(offset);
  }
  bool moves_end(std::int64_t offset) {
    rules_.offset = offset;
    return true;
  }
  /// DWARF expressions, which the linker's stubs use.
  bool computed_end(Cursor& cursor) {
    known_ = false;
    std::ignore = cursor.take(cursor.var_u64());
    return true;
  }
  bool computed(Cursor& cursor) {
    const std::uint64_t number = cursor.var_u64();
    std::ignore = cursor.take(cursor.var_u64());
    return number != kFramePointer && number != kReturnAddress;
  }

  const CommonInfoEntry& common_;
  std::uint64_t at_;
  std::uint64_t instruction_;
  FrameRules rules_;
  bool known_ = false;  ///< Whether it is known where the frame ends.
  std::optional<std::int64_t> returns_;
  State first_;
  std::vector<State> kept_;
};

/// An entry of the index. Both values are relative to the start of the index.
struct IndexEntry {
  std::int32_t function;
  std::int32_t record;
};

/// The address of the record for the last function that begins at or before the instruction.
std::optional<std::uint64_t> record_of(Memory& memory, const FrameIndex& index, std::uint64_t instruction) {
  constexpr std::uint64_t kHead = 12;
  std::uint32_t from = 0;
  std::uint32_t to = index.functions;
  std::optional<std::uint64_t> found;
  while (from < to) {
    const std::uint32_t middle = from + (to - from) / 2;
    const auto entry =
        value_at<IndexEntry>(memory, index.address + kHead + std::uint64_t{middle} * sizeof(IndexEntry));
    if (!entry) return std::nullopt;
    if (moved(index.address, entry->function) <= instruction) {
      found = moved(index.address, entry->record);
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return found;
}

}  // namespace

std::optional<FrameIndex> find_frame_index(Memory& memory, std::uint64_t base) {
  const auto header = value_at<Elf64_Ehdr>(memory, base);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_machine != EM_X86_64 ||
      header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > kMaxSegments)
    return std::nullopt;
  std::optional<std::uint64_t> first;
  std::optional<std::uint64_t> place;
  for (std::size_t number = 0; number < header->e_phnum; ++number) {
    const auto segment = value_at<Elf64_Phdr>(memory, base + header->e_phoff + number * sizeof(Elf64_Phdr));
    if (!segment) return std::nullopt;
    if (segment->p_type == PT_LOAD && segment->p_offset == 0) first = segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME) place = segment->p_vaddr;
  }
  if (!first || !place) return std::nullopt;
  const std::uint64_t address = base + *place - *first;
  const auto head = value_at<std::array<std::uint8_t, 4>>(memory, address);
  const auto functions = value_at<std::uint32_t>(memory, address + 8);
  // The version, and the encodings of the section's address, the count and the table.
  if (!head || !functions || (*head)[0] != 1 || (*head)[1] == kOmit || (*head)[2] != kUdata4 ||
      (*head)[3] != kDataRelSdata4 || *functions > kMaxFunctions)
    return std::nullopt;
  return FrameIndex{address, *functions};
}

std::optional<FrameRules> frame_rules_at(Memory& memory, const FrameIndex& index, std::uint64_t instruction) {
  const auto place = record_of(memory, index, instruction);
  const auto record = place ? record_at(memory, *place) : std::nullopt;
  if (!record) return std::nullopt;
  Cursor cursor = record->cursor();
  const std::uint64_t from_here = cursor.offset();
  const auto common_record = record_at(memory, from_here - cursor.u32());
  const auto common = common_record ? parse_cie(*common_record) : std::nullopt;
  if (!common) return std::nullopt;
  const std::uint64_t here = cursor.offset();
  const std::uint64_t begin = moved(here, static_cast<std::int32_t>(cursor.u32()));
  const std::uint32_t size = cursor.u32();
  std::ignore = cursor.take(cursor.var_u64());
  if (cursor.failed() || instruction < begin || instruction - begin >= size) return std::nullopt;
  CfiInterpreter reader(*common, begin, instruction);
  if (!reader.follow(Cursor(common->first_rules, 0))) return std::nullopt;
  reader.keep_as_first();
  if (!reader.follow(Cursor(cursor.take_rest(), 0))) return std::nullopt;
  return reader.rules();
}

namespace {

/// The most frames that the kernel shows of a stack.
constexpr std::size_t kMaxFrames = 127;
/// Their rules take about 1 MiB.
constexpr std::size_t kMaxRules = 8192;
/// How far to search for a frame pointer, in bytes.
constexpr std::uint64_t kSearched = 16 * 1024;
/// The largest stack, in bytes.
constexpr std::uint64_t kFarthest = std::uint64_t{1} << 30U;
constexpr std::uint64_t kWord = 8;

struct KeptFrame {
  std::uint64_t frame_pointer;   ///< The caller's.
  std::uint64_t return_address;  ///< Where execution goes on in the caller.
};

/// Whether a frame that is entered with this stack pointer can end at `end`.
bool is_beyond(std::uint64_t end, std::uint64_t stack_pointer) {
  return end > stack_pointer && end - stack_pointer < kFarthest && end % kWord == 0;
}

/// Decodes the usual prologue of compiled code, as far as it moves the stack pointer.
class Prologue {
 public:
  explicit Prologue(std::span<const std::uint8_t> code) : code_(code) {}

  /// The distance from the stack pointer to the frame pointer after the prologue. Nothing if the function
  /// begins in another way.
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
  /// Takes a push of a callee-saved register, or one for alignment.
  bool take_push() {
    return take({0x53}) || take({0x50}) || take({0x41, 0x54}) || take({0x41, 0x55}) || take({0x41, 0x56}) ||
           take({0x41, 0x57});
  }
  std::uint64_t byte() { return at_ < code_.size() ? code_[at_++] : 0; }

  std::span<const std::uint8_t> code_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::uint64_t> StackWalk::walk(const ThreadRegisters& at) {
  std::vector<std::uint64_t> stack{at.instruction};
  Registers registers{at.instruction, at.stack_pointer, std::nullopt};
  searched_ = false;
  // A caller is known by its return address, which may already belong to another function: look one byte
  // before.
  for (std::uint64_t behind = 0; stack.size() < kMaxFrames; behind = 1) {
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
    if (!registers.frame_pointer) registers.frame_pointer = frame_by_prologue(registers, rules.function);
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
  if (rules_.size() == kMaxRules) rules_.clear();
  return rules_.emplace(instruction, look_up(instruction)).first->second;
}

std::optional<FrameRules> StackWalk::look_up(std::uint64_t instruction) {
  const MappedFile* const file = space_.find(instruction);
  if (file == nullptr || file->base == 0) return std::nullopt;
  const auto [index, added] = indexes_.try_emplace(file->base);
  if (added) index->second = find_frame_index(code_, file->base);
  return index->second ? frame_rules_at(code_, *index->second, instruction) : std::nullopt;
}

std::optional<std::uint64_t> StackWalk::frame_by_prologue(const Registers& registers,
                                                          std::uint64_t function) {
  constexpr std::size_t kLongest = 48;
  const auto code = value_at<std::array<std::uint8_t, kLongest>>(code_, function);
  if (!code) return std::nullopt;
  Prologue beginning(*code);
  const auto distance = beginning.distance();
  if (!distance || registers.instruction < function + beginning.size()) return std::nullopt;
  const std::uint64_t frame = registers.stack_pointer + *distance;
  return is_frame(frame) ? std::optional(frame) : std::nullopt;
}

std::optional<std::uint64_t> StackWalk::frame_by_search(std::uint64_t stack_pointer) {
  // A second search on one walk means that the walk has gone wrong.
  if (std::exchange(searched_, true)) return std::nullopt;
  for (std::uint64_t place = stack_pointer; place < stack_pointer + kSearched; place += kWord) {
    const auto kept = value_at<std::uint64_t>(stack_, place);
    if (!kept) return std::nullopt;
    if (is_beyond(*kept, place) && is_frame(place)) return place;
  }
  return std::nullopt;
}

/// Whether a saved frame pointer, followed by a return address, may be at this address.
bool StackWalk::is_frame(std::uint64_t address) {
  const auto frame = value_at<KeptFrame>(stack_, address);
  return frame && returns_behind_call(frame->return_address);
}

bool StackWalk::returns_behind_call(std::uint64_t address) {
  if (space_.find(address) == nullptr) return false;
  constexpr std::size_t kLongest = 7;
  const auto code = value_at<std::array<std::uint8_t, kLongest>>(code_, address - kLongest);
  if (!code) return false;
  // A call is E8 with four bytes, or FF with 2 in the middle bits of its second byte.
  if ((*code)[kLongest - 5] == 0xE8) return true;
  for (const std::size_t size : {2U, 3U, 4U, 6U, 7U}) {
    const std::size_t place = kLongest - size;
    if ((*code)[place] == 0xFF && ((*code)[place + 1] & 0x38U) == 0x10) return true;
  }
  return false;
}

}  // namespace farport::router
