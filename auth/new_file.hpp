// New files whose mode is what it should be from their first moment.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

#include "auth/openssl.hpp"
#include "base/error.hpp"

namespace farport::auth {

/// Makes a new file, readable by its owner alone until it is whole, then with `mode`. One that exists is an
/// error; links are not followed. Removes it again if it cannot be written to the end.
[[nodiscard]] Result<void> write_new(const std::string& path, std::string_view text, mode_t mode);

/// Replaces whatever has that name, a link included, in one step.
[[nodiscard]] Result<void> write_over(const std::string& path, std::string_view text, mode_t mode);

/// Memory for text that may be a key: wiped when it is freed.
[[nodiscard]] BioPtr secret_memory();

/// What has been written to memory. Refers to it.
[[nodiscard]] std::string_view text_in(BIO* memory);

}  // namespace farport::auth
