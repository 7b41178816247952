// Lists as people write them: with commas.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace farport::router {

/// What stands between commas, empty parts included. `inside` is told each character in turn, and says
/// whether a comma there is none of the list's.
[[nodiscard]] std::vector<std::string> split_list(std::string_view list,
                                                  const std::function<bool(char)>& inside);

}  // namespace farport::router
