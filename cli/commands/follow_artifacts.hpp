// Receiving what agents keep, as it appears.
#pragma once

#include "config/settings.hpp"

namespace farport::cli {

/// Receives all artifacts into the directory `settings.follow`, each once, until it is stopped, and prints
/// their paths. Reports errors, and returns the exit code: what an agent does wrong is tried again, and what
/// is wrong with the directory ends it.
int follow_artifacts(const config::ArtifactsSettings& settings);

}  // namespace farport::cli
