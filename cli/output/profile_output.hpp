// Writing a profile to a file or to standard output.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "profile/form.hpp"
#include "profile/profile.hpp"

namespace farport::cli {

/// Rows of a table if no number is given.
inline constexpr std::uint32_t kUsualRows = 25;

struct ProfileOutput {
  std::string path;       ///< Empty: standard output, with a table on a terminal and otherwise folded stacks.
  bool force = false;     ///< Replace an existing file.
  std::uint32_t top = 0;  ///< If not 0: a table of so many rows on standard output, even with a file.
};

/// Creates the output file before the application is asked for anything; null for standard output. Fails if
/// the name's ending is unknown, or if the file exists or can't be created.
[[nodiscard]] Result<std::unique_ptr<OutputFile>> open_output(const ProfileOutput& output);

/// What the output needs of samples.
[[nodiscard]] profile::Keep keep_for(const ProfileOutput& output);

/// Rows of the table on standard output; 0: no table.
[[nodiscard]] std::uint32_t rows_for(const ProfileOutput& output);

/// Writes the file's content to `file`. Fails with the sink's error.
[[nodiscard]] Result<void> render_file(const profile::Profile& taken, const ProfileOutput& output,
                                       const profile::Sink& file);

/// Writes the output for standard output to `lines`: a table of `rows`, or folded stacks if there is no file.
/// Fails with the sink's error.
[[nodiscard]] Result<void> render_lines(const profile::Profile& taken, const ProfileOutput& output,
                                        std::uint32_t rows, const profile::Sink& lines);

/// Writes the profile to the file from open_output(), and prints its path. On failure there is no file.
[[nodiscard]] Result<void> write_output(const profile::Profile& taken, const ProfileOutput& output,
                                        std::unique_ptr<OutputFile> file);

}  // namespace farport::cli
