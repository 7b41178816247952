// What a caller is told that is refused.
#pragma once

#include <cstdint>
#include <string>

#include "transport/loop.hpp"

namespace farport::router {

/// Why something was refused, for a person, for HTTP and for a tool.
struct Refusal {
  int status = 0;             ///< Of HTTP.
  std::uint32_t hresult = 0;  ///< Of the IPC error that a tool gets.
  std::string why;
  int retry_after{};  ///< In seconds; 0: there is nothing to wait for.
  /// The same to the millisecond, where nothing but time must pass; nothing was done then.
  transport::Milliseconds retry_after_exactly{};
};

}  // namespace farport::router
