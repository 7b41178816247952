// The one runtime that a command is about, among those that an agent lists.
#pragma once

#include <string>
#include <vector>

#include "cli/explain.hpp"

namespace farport::cli {

/// A runtime, and where the agent is that has it: several may stand behind one name.
struct FoundRuntime {
  std::vector<transport::Address> addresses;   ///< None where a command reaches it:
  std::shared_ptr<const router::Reach> reach;  ///< by this way.
  router::Runtime runtime;
};

/// Asks the agents behind a name for `wanted`: a pid, a name, or whatever router::choose_runtime() takes.
/// Errors: no agent answers, or none or several fit. `missing`: what there is, should it not be found.
[[nodiscard]] transport::Task<Result<FoundRuntime>> find_runtime(transport::Loop& loop,
                                                                 router::MirroredAgent agent,
                                                                 std::string wanted, Missing& missing);

}  // namespace farport::cli
