// Bodies of answers that are made when it is the caller's turn.
#pragma once

#include <functional>
#include <string>

#include "router/agent/connections/response.hpp"
#include "transport/share.hpp"

namespace farport::router {

inline constexpr const char* kJson = "application/json";

/// Answers with a JSON array that is made in so many parts, each when it is the caller's turn: part(i) gives
/// items with commas between them, or none. `fields`: more of the answer's head.
transport::Task<void> send_array(Response& response, transport::Share& share, transport::HeaderFields fields,
                                 std::size_t parts, std::function<std::string(std::size_t)> part);

/// Answers with what `make` makes, when it is the caller's turn.
transport::Task<void> send_text(Response& response, transport::Share& share, transport::HeaderFields fields,
                                std::string type, std::function<std::string()> make);

}  // namespace farport::router
