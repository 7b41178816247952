#include "router/wanted/lists.hpp"

namespace farport::router {

std::vector<std::string> split_list(std::string_view list, const std::function<bool(char)>& inside) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (!inside(c) && c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

}  // namespace farport::router
