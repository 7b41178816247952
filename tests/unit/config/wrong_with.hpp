// What the tests of the file share.
#pragma once

#include <string>

#include <catch2/catch.hpp>

#include "config/file.hpp"

namespace farport::config {

/// The only thing that is wrong with a text, without the file's name.
inline std::string wrong_with(const std::string& text) {
  const auto file = parse_file(text, "a.toml");
  REQUIRE_FALSE(file.has_value());
  REQUIRE(file.error().size() == 1);
  return file.error().front().substr(std::string("a.toml:").size());
}

}  // namespace farport::config
