// Bodies of answers that are made when it is the caller's turn.
#pragma once

#include <functional>
#include <string>

#include "router/agent/connections/response.hpp"
#include "transport/share.hpp"

namespace farport::router {

inline constexpr const char* kJson = "application/json";

/// Appends the next item of a JSON array. Returns whether there was one.
using AppendItem = std::function<bool(std::string& to)>;

/// Answers with a JSON array. Its items are made in the caller's turns, and only as fast as the answer is
/// read: one that nobody reads keeps a few of them, however long the array is. `fields`: more of the answer's
/// head.
transport::Task<void> send_array(Response& response, transport::Share& share, transport::HeaderFields fields,
                                 AppendItem append_item);

/// Answers with what `make` makes, when it is the caller's turn.
transport::Task<void> send_text(Response& response, transport::Share& share, transport::HeaderFields fields,
                                std::string type, std::function<std::string()> make);

}  // namespace farport::router
