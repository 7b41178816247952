// What `farport stdio` says before the session begins, so that what shells and servers print before it is
// told apart from it.
#pragma once

#include <string_view>

namespace farport::router {

/// A line of its own. The number is that of this agreement, and not of farport.
inline constexpr std::string_view kGreeting = "farport-stdio 1";

}  // namespace farport::router
