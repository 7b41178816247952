// RateLimitedLog: warnings about others, who may cause very many of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/log.hpp"
#include "transport/loop.hpp"

namespace farport::transport {

/// Logs at most one warning (or a few) of each kind a minute.
class RateLimitedLog {
 public:
  RateLimitedLog(Loop& loop, Log log) : loop_(loop), log_(std::move(log)) {}

  /// Logs `message` as a warning unless `a_minute` warnings of that kind were logged within a minute; then at
  /// debug level. When too many kinds are active at once, new ones are not logged. Returns whether it was a
  /// warning.
  bool add(const std::string& kind, const std::string& message, std::size_t a_minute = 1);
  /// Counts like add() but logs nothing. Returns whether one more of this kind may be logged.
  bool allows(const std::string& kind, std::size_t a_minute = 1);

 private:
  struct Logged {
    std::uint64_t since = 0;  ///< When the first one was logged, on the loop's clock in ms.
    std::size_t count = 0;
  };

  Loop& loop_;
  Log log_;
  std::map<std::string, Logged> logged_;
};

}  // namespace farport::transport
