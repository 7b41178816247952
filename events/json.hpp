// What is made of events as JSON.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "events/exceptions.hpp"
#include "events/logs.hpp"
#include "events/measurements.hpp"
#include "events/thread_stacks.hpp"

namespace farport::events {

/// Each of these is one line, without its newline.
[[nodiscard]] std::string to_json(const Measurement& measurement);
[[nodiscard]] std::string to_json(const LogEntry& entry);
/// `frames`: of its stack, the innermost first.
[[nodiscard]] std::string to_json(const ThrownException& thrown, const std::vector<std::string>& frames);

/// A list in many lines, for people as well: in pieces, since it may be long.
void write_json(const EachStack& stacks, const std::function<void(std::string_view)>& to);

}  // namespace farport::events
