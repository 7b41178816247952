// Http2FlowControl: the credit that both sides of a session give each other (RFC 9113 section 5.2).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <nghttp2/nghttp2.h>

#include "transport/http2/stream.hpp"

namespace farport::transport {

/// How large the windows of a session's streams should be (RFC 9113 section 5.2): more than what the network
/// holds, its bandwidth-delay product, so that a sender never waits for credit that is on its way. Not much
/// more where what the network doesn't hold stays in the queues in front of it.
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

class Http2FlowControl {
 public:
  /// Our streams' windows are between these sizes, in bytes. `session` must outlive this.
  Http2FlowControl(nghttp2_session* session, std::uint32_t smallest, std::uint32_t largest)
      : session_(session), window_(smallest, largest) {}

  // What the peer may send.
  /// Bytes have come. True: send a PING, which measures the network.
  [[nodiscard]] bool received(std::size_t bytes);
  void ping_sent() { window_.ping_sent(Http2Window::Clock::now()); }
  /// Submits another size of our windows if that is called for.
  void ping_acknowledged();
  /// The stream's reader has taken so many bytes: gives credit for what has been read, if it is worth it.
  void consumed(const Http2Stream& stream, std::size_t bytes);
  /// Gives credit for all that has been read of the stream.
  void give_all_credit(const Http2Stream& stream) { give_credit(stream, 1); }

  // What we may send.
  /// How much of what has been sent on a stream its reader has surely taken, in bytes.
  [[nodiscard]] std::uint64_t acknowledged(const Http2Stream& stream, std::uint64_t sent) const;
  /// How much the kernel should hold unsent for the peer, in bytes.
  [[nodiscard]] std::size_t unsent() const;

 private:
  void give_credit(const Http2Stream& stream, std::int32_t at_least);
  [[nodiscard]] std::uint32_t peer_window() const;

  nghttp2_session* session_;
  Http2Window window_;
};

}  // namespace farport::transport
