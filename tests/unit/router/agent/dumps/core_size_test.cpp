#include "router/agent/dumps/core_size.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <elf.h>

#include <catch2/catch.hpp>

using farport::router::CoreSize;

namespace {

template <typename Part>
void append(std::string& to, const Part& part) {
  to.append(reinterpret_cast<const char*>(&part), sizeof part);
}

Elf64_Ehdr header_for(std::uint16_t segments, std::uint64_t segments_offset) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_type = ET_CORE;
  header.e_phoff = segments_offset;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = segments;
  return header;
}

/// Segments of 1,000 bytes each, one after the other, behind the headers.
std::string core(std::size_t segments, bool many = false) {
  std::string file;
  Elf64_Ehdr header = header_for(static_cast<std::uint16_t>(segments), sizeof header);
  if (many) {
    header = header_for(PN_XNUM, sizeof header + sizeof(Elf64_Shdr));
    header.e_shoff = sizeof header;
  }
  append(file, header);
  Elf64_Shdr section{};
  section.sh_info = static_cast<std::uint32_t>(segments);
  if (many) append(file, section);
  const std::size_t start = file.size() + segments * sizeof(Elf64_Phdr);
  for (std::size_t at = 0; at < segments; ++at) {
    Elf64_Phdr segment{};
    segment.p_offset = start + at * 1000;
    segment.p_filesz = 1000;
    append(file, segment);
  }
  return file + std::string(segments * 1000, 'x');
}

bool is_whole(const std::string& file, std::size_t piece) {
  CoreSize size;
  const auto bytes = std::as_bytes(std::span(file));
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    size.take(bytes.subspan(at, std::min(piece, bytes.size() - at)));
  CHECK(size.taken() == file.size());
  return size.is_whole();
}

}  // namespace

TEST_CASE("a core file is whole when it has what its headers say", "[dumps]") {
  for (const bool many : {false, true}) {
    const std::string file = core(3, many);
    for (const std::size_t piece : {1, 7, 64, 100, 100'000}) {
      CHECK(is_whole(file, piece));
      CHECK(!is_whole(file.substr(0, file.size() - 1), piece));
      CHECK(!is_whole(file.substr(0, 200), piece));
      CHECK(!is_whole(file.substr(0, 30), piece));
    }
  }
}

TEST_CASE("what is no core file is never whole", "[dumps]") {
  CHECK(!is_whole("", 1));
  CHECK(!is_whole(std::string(10'000, 'x'), 100));
  CHECK(!is_whole(core(0), 100));
  std::string file = core(3);
  // Its segments begin before the end of its header.
  const std::uint64_t early = 10;
  std::memcpy(file.data() + offsetof(Elf64_Ehdr, e_phoff), &early, sizeof early);
  CHECK(!is_whole(file, 100));
}
