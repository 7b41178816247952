// How large the windows of a session's streams should be (RFC 9113 section 5.2): twice what the network
// holds, its bandwidth-delay product, so that a sender never waits for credit that is on its way.
#pragma once

#include <cstdint>
#include <optional>

#include "transport/loop.hpp"

namespace farport::transport {

/// Counts what comes between a PING and its acknowledgement, a round trip later.
class Http2Window {
 public:
  /// Between these sizes, in bytes; equal ones never change.
  Http2Window(std::uint32_t smallest, std::uint32_t largest)
      : smallest_(smallest), largest_(largest), size_(smallest) {}

  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// Body bytes have come. True: a PING should measure what comes in a round trip from here on.
  [[nodiscard]] bool received(std::size_t bytes, std::uint64_t now_ms);
  /// The PING that measures has this number (Http2Keepalive::ask()).
  void measure(std::uint64_t ping) { ping_ = ping; }
  /// So many PINGs have been acknowledged. The new size, if it changes.
  [[nodiscard]] std::optional<std::uint32_t> acknowledged(std::uint64_t pings);

 private:
  [[nodiscard]] std::optional<std::uint32_t> resize(std::uint64_t wanted);

  std::uint32_t smallest_;
  std::uint32_t largest_;
  std::uint32_t size_;
  std::optional<std::uint64_t> ping_;
  std::uint64_t received_ = 0;  ///< Since the last PING that measured, or was acknowledged.
  std::uint64_t measured_at_ms_ = 0;
  int quiet_ = 0;  ///< PINGs in a row between which little came.
};

}  // namespace farport::transport
