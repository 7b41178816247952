// How an answer of the agent's sampler begins: with one of these bytes.
#pragma once

namespace farport::router {

inline constexpr char kSampling = 's';  ///< What was asked for follows.
inline constexpr char kRefused = 'r';   ///< The process may not, or can't, be looked at.
inline constexpr char kNoMemory = 'm';  ///< That needs more memory than the request allows.

}  // namespace farport::router
