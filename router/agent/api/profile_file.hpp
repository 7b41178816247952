// A profile as a file, made by the agent for callers that have no farport.
#pragma once

#include <optional>
#include <string>

#include "profile/form.hpp"
#include "router/agent/recordings/method_reading.hpp"

namespace farport::router {

struct ProfileFile {
  profile::Form form{};
  std::string content_type;
};

/// What a word of the query asks for; nothing where there is none: samples as they come. Errors: there is no
/// such form.
[[nodiscard]] Result<std::optional<ProfileFile>> profile_file(const std::string& word);

/// Reads samples to their end, asks `names` for the methods that they were in, and makes the file. Methods
/// that it doesn't tell have their addresses. Errors: the stream's; there are more samples, or the file is
/// larger, than an agent keeps.
[[nodiscard]] transport::Task<Result<std::string>> make_profile_file(
    transport::Loop& loop, transport::Stream& samples, ProfileFile wanted, RuntimePtr runtime,
    std::function<transport::Task<Result<void>>(events::MethodTable&)> names);

}  // namespace farport::router
