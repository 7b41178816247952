// What sanitizer and coverage builds need beyond the program: LeakSanitizer traces the other threads, reports
// read symbols from the program's file, and coverage counts are written at exit.
#pragma once

#include <array>
#include <vector>

#include "confinement/landlock.hpp"

namespace farport::confinement {

/// Additional system calls. Their arguments are not restricted, even where the program's own rules do so.
inline constexpr std::array kInstrumentCalls{
    "arch_prctl", "clone",    "getdents",    "getrlimit", "kill",      "mmap",
    "mprotect",   "open",     "openat",      "prctl",     "prlimit64", "process_vm_readv",
    "ptrace",     "readlink", "sigaltstack", "tkill",     "wait4"};

/// Additional files: reading the program and its libraries; writing the directory of log_path in ASAN_OPTIONS
/// and that of the coverage counts.
[[nodiscard]] std::vector<FileRule> instrument_files();

}  // namespace farport::confinement
