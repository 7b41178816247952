// A profile as a file, for callers that have no farport.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "profile/form.hpp"

namespace farport::router {

struct ProfileFile {
  profile::Form form{};
  std::string content_type;
};

/// What a word of the query asks for; nothing where there is none: samples as they come. Errors: there is no
/// such form.
[[nodiscard]] Result<std::optional<ProfileFile>> profile_file(const std::string& word);

}  // namespace farport::router
