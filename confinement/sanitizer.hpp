// What the sanitizers' runtime does in the tests' builds, beside what the program does: LeakSanitizer stops
// the process from a thread that traces the others, and reports are written with names from the program's
// file. Other builds have none of it.
#pragma once

#include <array>
#include <vector>

#include "confinement/landlock.hpp"

namespace farport::confinement {

/// Without limits on their arguments, where the program's own have some.
inline constexpr std::array kSanitizerCalls{"clone",  "kill",  "mmap",  "mprotect",   "prctl",
                                            "ptrace", "tkill", "wait4", "arch_prctl", "process_vm_readv"};

/// The program and its libraries for reading, and the directory of log_path in ASAN_OPTIONS for writing.
[[nodiscard]] std::vector<FileRule> sanitizer_files();

}  // namespace farport::confinement
