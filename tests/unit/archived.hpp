// A file as it stands in an archive, and the end of one.
#pragma once

#include <string>

#include "base/tar.hpp"

namespace farport::test {

inline std::string archived(const std::string& name, const std::string& content) {
  const auto header = tar_header(name, content.size());
  return std::string(header.data(), header.size()) + content + std::string(tar_padding(content.size()), '\0');
}

inline const std::string kArchiveEnd(kTarEnd, '\0');

}  // namespace farport::test
