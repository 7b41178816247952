// A heap as a .gcdump file, which dotnet-gcdump, PerfView and Visual Studio open.
#pragma once

#include <string>

#include "heap/heap.hpp"
#include "heap/serializer.hpp"

namespace farport::heap {

/// Where a heap is from, for people.
struct Origin {
  std::string host;
  std::string process;
};

/// Writes the heap, which must have a graph. References to what is no object of the heap are left out.
/// Errors: the sink's, and a heap that is too large for such a file.
[[nodiscard]] Result<void> write_gcdump(Heap heap, const Origin& origin, Sink sink);

}  // namespace farport::heap
