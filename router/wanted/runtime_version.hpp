// What can be asked of a runtime depends on its version.
#pragma once

#include <string_view>

namespace farport::router {

/// 10 of "10.0.1"; 0 where it is no version.
[[nodiscard]] int major_of(std::string_view version);

}  // namespace farport::router
