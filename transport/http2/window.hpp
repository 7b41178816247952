// How large the windows of a session's streams should be (RFC 9113 section 5.2): more than what the network
// holds, its bandwidth-delay product, so that a sender never waits for credit that is on its way. Not much
// more where what the network doesn't hold stays in the queues in front of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace farport::transport {

/// Measures by PINGs: what comes until one is acknowledged is what comes in a round trip. The network's own
/// delay is the shortest of those round trips; longer ones have waited behind what was sent before them, or
/// for a network that was away.
class Http2Window {
 public:
  using Clock = std::chrono::steady_clock;

  /// Between these sizes, in bytes; equal ones never change.
  Http2Window(std::uint32_t smallest, std::uint32_t largest)
      : smallest_(smallest), largest_(largest), size_(smallest) {}

  /// How much must have been read to be worth credit before half of the window is: next door little would be
  /// gained by that.
  [[nodiscard]] std::uint32_t credit_unit() const;
  /// Body bytes have come. True: much has, and no PING is under way that would measure it. Send one.
  [[nodiscard]] bool received(std::size_t bytes, Clock::time_point now);
  void ping_sent(Clock::time_point now);
  /// The size from now on, if it changes.
  [[nodiscard]] std::optional<std::uint32_t> ping_acknowledged(Clock::time_point now);

 private:
  /// Whether what is under way stands in a queue, which single PINGs don't tell.
  struct Queue {
    /// A PING has waited in one, or not. True: one stands, as is known now.
    bool is_new(bool seen);

    bool stands = false;
    int against = 0;  ///< PINGs in a row that say otherwise.
  };

  [[nodiscard]] std::optional<std::uint32_t> resize(double wanted);

  std::uint32_t smallest_;
  std::uint32_t largest_;
  std::uint32_t size_;
  bool measuring_ = false;
  Clock::time_point sent_at_{};
  Clock::duration round_trip_ = Clock::duration::max();  ///< The shortest.
  std::uint64_t received_ = 0;                           ///< Since a PING was last sent or acknowledged.
  std::uint64_t since_ping_ = 0;                         ///< Since one was last sent.
  double last_product_ = 0;
  int quiet_ = 0;      ///< PINGs in a row before which little came.
  int too_large_ = 0;  ///< PINGs in a row for which half of the window would do.
  Queue queue_;
};

}  // namespace farport::transport
