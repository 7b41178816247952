#include "heap/largest.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace farport::heap {

std::string label_of(const Type& type) {
  return type.name.empty() ? fmt::format("[type {:#x}]", type.number) : type.name;
}

std::vector<TypeId> largest_types(const Heap& heap, std::size_t most) {
  std::vector<TypeId> all;
  for (TypeId id = 0; id < heap.types.size(); ++id) {
    if (heap.types[id].objects > 0) all.push_back(id);
  }
  const auto wanted = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), wanted, all.end(), [&heap](TypeId one, TypeId other) {
    const Type& a = heap.types[one];
    const Type& b = heap.types[other];
    return std::tie(b.bytes, b.objects, a.name, one) < std::tie(a.bytes, a.objects, b.name, other);
  });
  all.erase(wanted, all.end());
  return all;
}

}  // namespace farport::heap
