// Makes this process expensive to profile from outside: many threads, deep stacks, many mappings.
#pragma once

#include <cstddef>
#include <string>

namespace farport::fake {

struct Burden {
  std::size_t threads = 0;   ///< Whose stacks are deep, change all the time, and are never alike.
  std::size_t mappings = 0;  ///< Of a file that may be executed, and has a path of nearly 4 KiB.
  std::string directory;     ///< Where that file is made.
};

/// Takes it on, for as long as this process lives. Throws std::runtime_error.
void take_on(const Burden& burden);

}  // namespace farport::fake
