// What a heap holds as JSON.
#pragma once

#include <string>

#include "heap/heap.hpp"

namespace farport::heap {

/// One object, with the types that take most, `most` of them. `process`: its name.
[[nodiscard]] std::string to_json(const Heap& heap, const std::string& process, std::size_t most);

}  // namespace farport::heap
