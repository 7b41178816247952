// A part of a file in a process's memory.
#pragma once

#include <cstdint>
#include <string>

namespace farport::router {

/// A part of a file that may be executed, in a process's memory.
struct MappedFile {
  std::uint64_t start = 0;
  std::uint64_t end = 0;     ///< One beyond.
  std::uint64_t offset = 0;  ///< Of `start` in the file.
  std::string path;
  std::uint64_t base = 0;  ///< Where the file's first byte is in memory; 0: that is not known.
};

}  // namespace farport::router
