// Where a profile goes: a file by its name, or standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "profile/form.hpp"
#include "profile/profile.hpp"

namespace farport::cli {

/// Of a table, where nothing is said of them.
inline constexpr std::uint32_t kUsualRows = 25;

struct ProfileOutput {
  std::string path;       ///< Empty: standard output has a table on a terminal, otherwise folded stacks.
  bool force = false;     ///< Replace a file that is there.
  std::uint32_t top = 0;  ///< Standard output has a table of so many rows in any case.
};

/// Prepares its file, before anything is asked of the application; null for standard output. Errors: the
/// name's ending says no form, a file is there, or can't be made.
[[nodiscard]] Result<std::unique_ptr<OutputFile>> open_output(const ProfileOutput& output);

/// What it takes of samples.
[[nodiscard]] profile::Keep keep_for(const ProfileOutput& output);

/// So many rows a table on standard output has; 0: there is none.
[[nodiscard]] std::uint32_t rows_for(const ProfileOutput& output);

/// What the file has of it. Errors: the sink's.
[[nodiscard]] Result<void> render_file(const profile::Profile& taken, const ProfileOutput& output,
                                       const profile::Sink& file);

/// What standard output has of it: a table of `rows`, or where there is no file folded stacks. Errors: the
/// sink's.
[[nodiscard]] Result<void> render_lines(const profile::Profile& taken, const ProfileOutput& output,
                                        std::uint32_t rows, const profile::Sink& lines);

/// Writes it into the file of open_output(), and prints its path. Errors: the system's; there is no file
/// then.
[[nodiscard]] Result<void> write_output(const profile::Profile& taken, const ProfileOutput& output,
                                        std::unique_ptr<OutputFile> file);

}  // namespace farport::cli
