// Listing and receiving what agents keep.
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

/// Receives all artifacts into the directory `settings.follow`, each once, until it is stopped, and prints
/// their paths. Reports errors, and returns the exit code: what an agent does wrong is tried again, and what
/// is wrong with the directory ends it.
int follow_artifacts(const config::ArtifactsSettings& settings);

}  // namespace farport::cli
