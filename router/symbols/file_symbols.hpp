// What files say of addresses, which a process of its own finds out: they may be anybody's.
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

// What an ELF file (gABI; elf(5)) says of addresses. The file may be anybody's: run it where a crash, or as
// much time and memory as the process may have, is no harm.

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

/// Work on what others have made, in a process of its own: where it goes wrong, only its result is missing.
/// Runs `work` in a process that may use no more than a few seconds of the processor and so much time at all,
/// and `memory` bytes beside what this process has; returns what `work` has returned there. Errors: it has
/// crashed, or has taken too long.
[[nodiscard]] Result<std::string> run_isolated(const std::function<std::string()>& work,
                                               std::chrono::milliseconds limit, std::uint64_t memory);

/// For one file: more than it takes from a slow disk.
inline constexpr std::chrono::milliseconds kOneFileLimit{5'000};

struct FileSymbols {
  bool usable = false;  ///< One of the files was what was asked for.
  std::vector<SampledMapping> parts;
  std::vector<SampledSymbol> symbols;
  std::string why;  ///< What kept a file from being opened; may be empty.
};

/// Opens the files that may be the one, the likeliest first. `why`: what kept one from being opened.
using OpenFiles = std::function<std::vector<UniqueFd>(std::string& why)>;
/// Reads one. False: it isn't what is asked for, and the next one is.
using ReadFile = std::function<bool(int fd, SampleSink& to)>;

/// Opens files and reads the first that can be used, all of it in a process without rights that has so much
/// time and memory (bytes, beside the file): not even opening one may be waited for here. Errors: there was
/// no answer.
[[nodiscard]] Result<FileSymbols> read_file_symbols(const OpenFiles& open, const ReadFile& read,
                                                    std::chrono::milliseconds limit, std::uint64_t memory);

/// How files are opened that may be anything: a pipe is not waited for, and no device does anything.
inline constexpr int kOpenAnything = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// The file just opened (errno says why where it isn't) if it is a regular one. None: `why` says why.
[[nodiscard]] UniqueFd regular_only(UniqueFd file, std::string& why);

/// Whether a symbol lies in one of the parts: a file names no functions but its own.
template <typename Parts, typename Range>
[[nodiscard]] bool is_inside(const Parts& parts, const Range& range) {
  for (const auto& part : parts) {
    if (part.start <= range.start && range.end <= part.end) return true;
  }
  return false;
}

/// Those of the addresses, which are in their order, that no symbol has.
[[nodiscard]] std::vector<std::uint64_t> without_names(const std::vector<std::uint64_t>& addresses,
                                                       std::vector<SampledSymbol> symbols);

}  // namespace farport::router
