// What is to be said of our own certificate.
#pragma once

#include <optional>
#include <vector>

#include "auth/credentials.hpp"
#include "auth/openssl.hpp"
#include "router/wire/diagnosis.hpp"

namespace farport::cli {

/// When it is valid; none where it can't be read.
[[nodiscard]] std::optional<auth::Validity> validity_of_own(const auth::TlsFiles& files);

/// What is wrong with our files, or that nothing is. `not_loaded`: why they could not be loaded.
[[nodiscard]] std::vector<router::Diagnosis> diagnoses_of_own(const auth::TlsFiles& files,
                                                              const std::optional<Error>& not_loaded);

}  // namespace farport::cli
