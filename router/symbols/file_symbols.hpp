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
#include "router/symbols/elf_symbols.hpp"

namespace farport::router {

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
