#include "router/wanted/runtime_version.hpp"

#include <charconv>

namespace farport::router {

int major_of(std::string_view version) {
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major;
}

}  // namespace farport::router
