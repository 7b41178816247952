// What an ELF file (gABI; elf(5)) says of addresses. The file may be anybody's: run it where a crash, or as
// much time and memory as the process may have, is no harm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "router/wire/samples.hpp"

namespace farport::router {

/// A part of a file in a process's memory.
/// A part of a file that may be executed, in a process's memory.
struct MappedFile {
  std::uint64_t start = 0;
  std::uint64_t end = 0;     ///< One beyond.
  std::uint64_t offset = 0;  ///< Of `start` in the file.
  std::string path;
  std::uint64_t base = 0;  ///< Where the file's first byte is in memory; 0: that is not known.
};

/// What is asked of a file.
struct SymbolQuestion {
  std::vector<MappedFile> parts;         ///< Where the process has it in its memory.
  std::vector<std::uint64_t> addresses;  ///< Of the process, in those parts, in their order.
};

/// A file that a process has in its memory, and its functions that have no names.
struct UnnamedFile {
  std::vector<SampledMapping> parts;     ///< All of one build id.
  std::vector<std::uint64_t> addresses;  ///< Of the process, in those parts, in their order.
};

/// Tells `to` each part, and each function that an address is in; `fd`: the file. False: it is no ELF file,
/// and nothing is told.
bool read_symbols(int fd, const SymbolQuestion& question, SampleSink& to);

/// The same for another file that has the names of `of`: one with its build id. Its parts are not told again.
/// False, too: it has another build id, or none.
bool read_debug_symbols(int fd, const UnnamedFile& of, SampleSink& to);

}  // namespace farport::router
