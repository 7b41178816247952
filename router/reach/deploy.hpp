// Deploy: whether and how farport is brought along to where there is none.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/text.hpp"
#include "router/reach/static_program.hpp"

namespace farport::router {

struct Deploy {
  enum class Way : std::uint8_t {
    automatic,  ///< An installed one of this version over ssh; a helper container; else a copy.
    never,      ///< What is installed there.
    ephemeral,  ///< A helper container.
    copy,       ///< A copy of the static program.
  };
  Way way = Way::automatic;
  std::string image{};  ///< Of helper containers; empty: one made of the static program.
  std::shared_ptr<StaticProgramFile>
      program{};  ///< What is brought along; null only where nothing is reached.
  /// Told in a line what is about to be done at the other side; must not be empty.
  std::function<void(const std::string&)> announce;
  /// It is to take profiles: a helper container gets the rights that this takes, and no other one.
  bool profiles = false;
  /// How long what is brought along stays after its last session.
  std::chrono::milliseconds linger{};
  /// Letters and digits that nobody can guess, for the name of a directory at the other side where another
  /// user may have made what has the usual name.
  std::string secret_name = random_token();
};

}  // namespace farport::router
