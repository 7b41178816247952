// Where a heap goes.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "config/settings.hpp"
#include "heap/gcdump.hpp"

namespace farport::cli {

/// Whether the file is to hold the objects themselves, and what they refer to.
[[nodiscard]] bool wants_objects(const config::GcdumpSettings& settings);

/// Prepares the file, before anything is asked of the application; null for standard output. Errors: the
/// name's ending says no form, a file is there, or can't be made.
[[nodiscard]] Result<std::unique_ptr<OutputFile>> open_output(const config::GcdumpSettings& settings);

/// Prints the heap, or writes it into the file of open_output() and prints its path. Errors: the system's;
/// there is no file then.
[[nodiscard]] Result<void> write_output(heap::Heap heap, const heap::Origin& origin,
                                        const config::GcdumpSettings& settings,
                                        std::unique_ptr<OutputFile> file);

}  // namespace farport::cli
