// Warnings about others, of whom there may be very many.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/log.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// Logs one warning of each kind a minute, however often it happens.
class Complaints {
 public:
  Complaints(transport::Loop& loop, Log log) : loop_(loop), log_(std::move(log)) {}

  /// Logs `message` unless one of that kind was logged within the last minute. With very many kinds at once
  /// the new ones are left out. Returns whether it was logged.
  bool add(const std::string& kind, const std::string& message);

 private:
  transport::Loop& loop_;
  Log log_;
  std::map<std::string, std::uint64_t> logged_;  ///< When, on the loop's clock in ms.
};

}  // namespace farport::router
