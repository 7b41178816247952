// Messages between a helper and those who ask it, with open files (unix(7), SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/unique_fd.hpp"

namespace farport::router {

/// The most descriptors of one message.
inline constexpr std::size_t kMaxPassed = 4;

/// Sends a message with duplicates of at most kMaxPassed descriptors. Does not wait. Returns 0 or an errno
/// value: EAGAIN if too much waits to be received.
[[nodiscard]] int send_passed(int socket, std::string_view bytes, const std::vector<int>& descriptors);

struct PassedMessage {
  ssize_t bytes = -1;  ///< 0 at the end; -1 if errno says what failed: EMSGSIZE if a part of it is lost.
  std::vector<UniqueFd> descriptors;
};

/// Waits for a message, and puts its bytes into `buffer`.
[[nodiscard]] PassedMessage receive_passed(int socket, std::span<char> buffer);

}  // namespace farport::router
