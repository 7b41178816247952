// The files that a profile can become.
#pragma once

#include <cstdint>
#include <string_view>

#include "profile/output.hpp"
#include "profile/profile.hpp"

namespace farport::profile {

enum class Form : std::uint8_t {
  html,         ///< A flame graph, interactive, in one file.
  svg,          ///< A flame graph, as a picture.
  speedscope,   ///< speedscope's JSON.
  pprof,        ///< profile.proto, compressed.
  perf_script,  ///< As `perf script` prints it.
  folded,       ///< Folded stacks, a line each.
};

/// Which one a file's name asks for, by how it ends. An error says which there are.
[[nodiscard]] Result<Form> form_of(std::string_view path);

/// What it takes of samples. A profile that keeps less is written without them.
[[nodiscard]] Keep keep_for(Form form);

/// Writes the file to `sink`, in pieces. What a runtime says (names of methods, modules, threads, itself) is
/// escaped as the form takes it, and never reaches a file or terminal raw. Memory: what counting the samples
/// takes, not the file's size. Errors: the sink's; a file that would be too large (kMostBytes).
[[nodiscard]] Result<void> write_profile(const Profile& profile, Form form, Sink sink);

}  // namespace farport::profile
