// What a heap holds, for people.
#pragma once

#include <string>

#include "heap/heap.hpp"

namespace farport::cli {

/// How much there is of all, and a line for each of the types that take most: `rows` of them, no line wider
/// than `width` columns; 0: whole. What the runtime says is escaped.
[[nodiscard]] std::string heap_table(const heap::Heap& heap, std::size_t rows, std::size_t width);

}  // namespace farport::cli
