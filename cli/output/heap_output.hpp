// Where a heap goes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

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

/// What is printed of it: nothing where it goes to a file and no table is wanted. `width`: of a table, in
/// columns.
[[nodiscard]] std::string heap_lines(const heap::Heap& heap, const heap::Origin& origin,
                                     const config::GcdumpSettings& settings, std::size_t width);

/// Its file, in pieces.
[[nodiscard]] Result<void> write_heap(heap::Heap heap, const heap::Origin& origin,
                                      const config::GcdumpSettings& settings,
                                      const std::function<void(std::string_view)>& to);

}  // namespace farport::cli
