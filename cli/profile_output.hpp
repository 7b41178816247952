// Where a profile goes: a file by its name, or standard output.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.hpp"
#include "profile/profile.hpp"

namespace farport::cli {

struct ProfileOutput {
  std::string path;       ///< Empty: standard output has folded stacks.
  bool force = false;     ///< Replace a file that is there.
  std::uint32_t top = 0;  ///< Standard output has a table of so many rows instead.
};

/// What is wrong with it, before there is a profile: the name's ending, or a file that is there.
[[nodiscard]] Result<void> check_output(const ProfileOutput& output);

/// What it takes of samples.
[[nodiscard]] profile::Keep keep_for(const ProfileOutput& output);

/// Writes it, and prints the path of a file. Errors: the system's.
[[nodiscard]] Result<void> write_output(const profile::Profile& taken, const ProfileOutput& output);

}  // namespace farport::cli
