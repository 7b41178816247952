// What an ELF file (gABI; elf(5)) says of addresses. The file may be anybody's: run it where a crash, or as
// much time and memory as the process may have, is no harm.
#pragma once

#include <string>
#include <vector>

#include "router/symbols/mapped_file.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

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
