// What the tests' builds do beside what the program does. LeakSanitizer stops the process from a thread that
// traces the others; sanitizers' reports are written with names from the program's file; the counts of a
// coverage build are written at the end. Other builds have none of it.
#pragma once

#include <array>
#include <vector>

#include "confinement/landlock.hpp"

namespace farport::confinement {

/// System calls; without limits on their arguments, where the program's own have some.
inline constexpr std::array kInstrumentCalls{
    "arch_prctl", "clone",    "getdents",    "getrlimit", "kill",      "mmap",
    "mprotect",   "open",     "openat",      "prctl",     "prlimit64", "process_vm_readv",
    "ptrace",     "readlink", "sigaltstack", "tkill",     "wait4"};

/// For reading the program and its libraries, for writing the directory of log_path in ASAN_OPTIONS and
/// that of the counts.
[[nodiscard]] std::vector<FileRule> instrument_files();

}  // namespace farport::confinement
