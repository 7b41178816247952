#include "router/agent/dumps/core_size.hpp"

#include <algorithm>
#include <cstring>

#include <elf.h>

namespace farport::router {
namespace {

template <typename Part>
Part read_as(const std::array<std::byte, 64>& bytes) {
  static_assert(sizeof(Part) <= sizeof bytes);
  Part part;
  std::memcpy(&part, bytes.data(), sizeof part);
  return part;
}

}  // namespace

void CoreSize::take(std::span<const std::byte> bytes) {
  while (!bytes.empty() && next_ != Next::nothing && next_ != Next::unknown) {
    const std::uint64_t before = offset_ + held_ - taken_;
    const std::size_t skipped = std::min<std::uint64_t>(bytes.size(), before);
    const std::size_t size = std::min(bytes.size() - skipped, wanted_ - held_);
    std::ranges::copy(bytes.subspan(skipped, size), part_.begin() + static_cast<std::ptrdiff_t>(held_));
    held_ += size;
    taken_ += skipped + size;
    bytes = bytes.subspan(skipped + size);
    if (held_ == wanted_) read_part();
  }
  taken_ += bytes.size();
}

void CoreSize::expect(Next next, std::uint64_t offset, std::size_t size) {
  next_ = offset < taken_ ? Next::unknown : next;
  offset_ = offset;
  wanted_ = size;
  held_ = 0;
}

void CoreSize::expect_segments() {
  next_ = Next::nothing;
  if (segments_read_ < segments_)
    expect(Next::segment, segments_offset_ + segments_read_ * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
}

void CoreSize::read_part() {
  if (next_ == Next::header) {
    const auto header = read_as<Elf64_Ehdr>(part_);
    const bool is_elf = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                        header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_phentsize == sizeof(Elf64_Phdr);
    if (!is_elf) return expect(Next::unknown, taken_, 1);
    segments_offset_ = header.e_phoff;
    segments_ = header.e_phnum;
    // The first section says how many segments there are if they are too many for the header.
    if (header.e_phnum == PN_XNUM) return expect(Next::section, header.e_shoff, sizeof(Elf64_Shdr));
    return expect_segments();
  }
  if (next_ == Next::section) {
    segments_ = read_as<Elf64_Shdr>(part_).sh_info;
    return expect_segments();
  }
  const auto segment = read_as<Elf64_Phdr>(part_);
  size_ = std::max<std::uint64_t>(size_, segment.p_offset + segment.p_filesz);
  ++segments_read_;
  expect_segments();
}

}  // namespace farport::router
