// Listing what agents keep.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"
#include "router/wire/artifact.hpp"

namespace farport::cli {

/// Prints the artifacts of this kind that all agents keep, or of all kinds if it is empty, as JSON or as the
/// table that `as_table` makes; `none` if there are none. Reports errors and returns the exit code.
int list_artifacts(const config::PsSettings& settings, std::string_view kind,
                   std::string (*as_table)(const std::vector<router::Artifact>&), const char* none);

}  // namespace farport::cli
