// Containers of podman and docker, reached through their own commands.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "router/reach/deploy.hpp"
#include "router/reach/reach.hpp"

namespace farport::router {

// Archives of one file (POSIX ustar), as container engines take and give them.

/// An archive of a program at this path, which anybody may run. `path`: shorter than 100 bytes, relative.
[[nodiscard]] std::vector<std::byte> tar_of_program(std::string_view path,
                                                    std::span<const std::byte> content);

/// The first plain file's content; nothing where there is none, or not all of it.
[[nodiscard]] std::optional<std::string> first_file(std::string_view tar);

/// `engine`: "podman" or "docker". `name`: the container's name or id. Errors: it is none.
[[nodiscard]] Result<std::shared_ptr<const Reach>> container_reach(std::string text, std::string engine,
                                                                   std::string name, Deploy deploy);

}  // namespace farport::router
