// Symbols of addresses in ELF files (gABI; elf(5)), read in a process of its own since the files may be
// hostile.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

/// An executable part of a file in a process's memory.
struct MappedFile {
  std::uint64_t start = 0;
  std::uint64_t end = 0;     ///< One beyond the last byte.
  std::uint64_t offset = 0;  ///< Of `start` in the file.
  std::string path;
  std::uint64_t base = 0;  ///< Where the file's first byte is in memory; 0 if unknown.
};

/// The addresses in a file for which symbols are wanted.
struct SymbolQuestion {
  std::vector<MappedFile> parts;         ///< Where the file is in the process's memory.
  std::vector<std::uint64_t> addresses;  ///< In those parts of the process's memory; sorted.
};

/// A file in a process's memory, and the addresses in it that have no names yet.
struct UnnamedFile {
  std::vector<SampledMapping> parts;     ///< All with the same build id.
  std::vector<std::uint64_t> addresses;  ///< In those parts of the process's memory; sorted.
};

/// Tells `to` each part, and each function that contains an address. `fd` is the file. Returns false, and
/// tells nothing, if it is no ELF file. A hostile file may crash this process, or use up its time and memory.
bool read_symbols(int fd, const SymbolQuestion& question, SampleSink& to);

/// The same for another file that may have the names of `of`. Does not tell the parts again. Also returns
/// false if its build id is missing or a different one.
bool read_debug_symbols(int fd, const UnnamedFile& of, SampleSink& to);

/// Runs `work` in a process of its own and returns its result. That process may use a few seconds of the
/// processor, this much time, and `memory` bytes in addition to what this process has. Errors: it has
/// crashed, or has taken too long.
[[nodiscard]] Result<std::string> run_isolated(const std::function<std::string()>& work,
                                               std::chrono::milliseconds limit, std::uint64_t memory);

/// The time for one file, which is more than reading it from a slow disk takes.
inline constexpr std::chrono::milliseconds kOneFileLimit{5'000};

/// What a file says, or why there is no such file.
struct FileSymbols {
  bool usable = false;  ///< One of the files was the right one.
  std::vector<SampledMapping> parts;
  std::vector<SampledSymbol> symbols;
  std::string why;  ///< Why a file could not be opened; may be empty.
};

/// Opens the files that may be the right one, the likeliest first. `why` is set if one can't be opened.
using OpenFiles = std::function<std::vector<UniqueFd>(std::string& why)>;
/// Reads a file. Returns false if it isn't the right one, so that the next one is tried.
using ReadFile = std::function<bool(int fd, SampleSink& to)>;

/// Opens files and reads the first that is the right one. Does both in a process without rights, since even
/// opening a file may take for ever. `memory` is in bytes, in addition to the file. Errors: there was no
/// answer in time.
[[nodiscard]] Result<FileSymbols> read_file_symbols(const OpenFiles& open, const ReadFile& read,
                                                    std::chrono::milliseconds limit, std::uint64_t memory);

/// Flags for opening what may be any kind of file: they don't wait for a pipe, nor make a device do anything.
inline constexpr int kOpenAnything = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// Returns the file if it is a regular one. Otherwise returns nothing, and `why` says why. If `file` is
/// empty, errno says why.
[[nodiscard]] UniqueFd regular_only(UniqueFd file, std::string& why);

/// Whether a symbol lies in one of the parts. A file may name no functions outside of its own parts.
template <typename Parts, typename Range>
[[nodiscard]] bool is_inside(const Parts& parts, const Range& range) {
  for (const auto& part : parts) {
    if (part.start <= range.start && range.end <= part.end) return true;
  }
  return false;
}

/// The addresses that are in no symbol. `addresses` must be sorted.
[[nodiscard]] std::vector<std::uint64_t> without_names(const std::vector<std::uint64_t>& addresses,
                                                       std::vector<SampledSymbol> symbols);

}  // namespace farport::router
