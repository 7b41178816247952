// Deploy: whether and how farport is brought along to where there is none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/random_token.hpp"
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
  /// For names at the other side that other users there must not know before (deploy_script.hpp).
  std::string secret_name = random_token();
};

}  // namespace farport::router
