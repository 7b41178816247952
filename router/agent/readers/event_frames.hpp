// Exceptions and methods on their way from a reader to the command that has started it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "events/exceptions.hpp"
#include "profile/frame.hpp"

namespace farport::router {

/// In one frame; of a message, and of a stack, what there is room for.
[[nodiscard]] std::string encode_exception(const events::ThrownException& thrown);
/// The reverse. Nothing where it is none.
[[nodiscard]] std::optional<events::ThrownException> decode_exception(std::string_view text);

/// The methods at addresses.
using NamedAddresses = std::map<std::uint64_t, profile::Frame>;

/// In one frame; of a name what there is room for.
[[nodiscard]] std::string encode_method(std::uint64_t address, const profile::Frame& method);
/// The reverse. Nothing where it is none.
[[nodiscard]] std::optional<NamedAddresses::value_type> decode_method(std::string_view text);

}  // namespace farport::router
