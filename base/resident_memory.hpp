// What the process holds in memory, and giving it back.
#pragma once

namespace farport {

/// From now on pieces of memory of 256 KiB and more, such as a compressor's, are given back when they are
/// freed.
void return_large_memory();

/// Gives back free heap.
void return_free_memory();

/// Gives back what starting up needed: free heap, and pages of program text and constants, which the kernel
/// maps again when they are used again. Starting touches most of the libraries' code once; serving needs
/// little of it. Once only: each time costs the next command page faults, and a debugger its breakpoints.
void release_start_memory();

}  // namespace farport
