#include "router/agent/sampler/address_space.hpp"

#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "base/process_stat.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kMostBytes = std::size_t{2} << 20U;

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
  constexpr std::size_t kMostMaps = 16U << 20U;
  // The last file whose first byte is mapped; its other parts follow it.
  std::string beginning;
  std::uint64_t base = 0;
  std::size_t text = 0;
  // The kernel writes a newline in a path as \012.
  for (std::string line; text < kMostMaps && std::getline(maps, line); text += line.size()) {
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
  if (bytes_ + size_of(file) > kMostBytes) return files_.upper_bound(file.start);
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

}  // namespace farport::router
