// Why an agent lists nothing, or not what is wanted, as it says itself.
#pragma once

#include <string>
#include <vector>

#include "router/mirror/mirror.hpp"

namespace farport::cli {

enum class Missing : std::uint8_t {
  everything,  ///< The agent lists no runtime.
  something,   ///< It lists some, and none of them is wanted.
};

/// Asks the agents behind a name what they have searched, and what they have found and cannot use, and
/// returns what to print: a line for each agent, and what to do below it. Where something is missing that is
/// nothing if no agent says anything. `only`: the address of the one that is meant; empty: all of them.
/// Agents that don't answer are left out: that has been said by then.
[[nodiscard]] transport::Task<std::vector<std::string>> explain_search(transport::Loop& loop,
                                                                       router::MirroredAgent agent,
                                                                       Missing missing,
                                                                       std::string only = {});

/// The same of several agents, of those that have answered within a few seconds. What a selection leaves out
/// is not explained: the link says it.
[[nodiscard]] transport::Task<std::vector<std::string>> explain_empty(
    transport::Loop& loop, std::vector<router::MirroredAgent> agents);

/// Prints that of several agents to standard error.
transport::Task<void> print_explanation(transport::Loop& loop, std::vector<router::MirroredAgent> agents,
                                        Missing missing, std::string only = {});

}  // namespace farport::cli
