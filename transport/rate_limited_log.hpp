// Warnings about others, of whom there may be very many.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/log.hpp"
#include "transport/loop.hpp"

namespace farport::transport {

/// Logs one warning of each kind a minute, or a few, however often it happens.
class RateLimitedLog {
 public:
  RateLimitedLog(Loop& loop, Log log) : loop_(loop), log_(std::move(log)) {}

  /// Logs `message` unless `a_minute` of that kind have been logged within a minute. With very many kinds at
  /// once the new ones are left out. Returns whether it was logged.
  bool add(const std::string& kind, const std::string& message, std::size_t a_minute = 1);
  /// The same without logging: whether one more of this kind may be noted.
  bool allows(const std::string& kind, std::size_t a_minute = 1);

 private:
  struct Logged {
    std::uint64_t since = 0;  ///< When the first one was, on the loop's clock in ms.
    std::size_t count = 0;
  };

  Loop& loop_;
  Log log_;
  std::map<std::string, Logged> logged_;
};

}  // namespace farport::transport
