// Lines at the beginning of a stream, before something else than lines begins.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "transport/stream.hpp"
#include "transport/task.hpp"

namespace farport::transport {

/// Why there is no line.
enum class NoLine : std::uint8_t {
  ended,     ///< The stream has ended or failed before the line has.
  too_long,  ///< It is, or what comes before it.
};

/// Whether a line, without its "\n", is the one that is looked for.
using LineFilter = std::function<bool(std::string_view)>;

/// Reads lines up to the first one that is `wanted`, and not a byte beyond it: what follows is for another
/// reader. Returns that line without its "\n". `most`: the bytes of all the lines, with their ends.
Task<tl::expected<std::string, NoLine>> read_to_line(Stream& stream, LineFilter wanted, std::size_t most);

/// The same with the first line there is.
Task<tl::expected<std::string, NoLine>> read_line(Stream& stream, std::size_t most);

}  // namespace farport::transport
