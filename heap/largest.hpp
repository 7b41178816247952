// The types that take the most.
#pragma once

#include <vector>

#include "heap/heap.hpp"

namespace farport::heap {

/// Types that have objects: by their bytes, then by how many objects there are, the greatest first; at most
/// `most`.
[[nodiscard]] std::vector<TypeId> largest_types(const Heap& heap, std::size_t most);

}  // namespace farport::heap
