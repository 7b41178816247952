// What the process holds in memory, and giving it back.
#pragma once

namespace farport {

/// From now on pieces of memory of 256 KiB and more, such as a compressor's, are given back when they are
/// freed.
void return_large_memory();

/// Gives back free heap.
void return_free_memory();

}  // namespace farport
