// Http2FlowControl: the credit that both sides of a session give each other (RFC 9113 section 5.2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <nghttp2/nghttp2.h>

#include "transport/http2/stream.hpp"
#include "transport/http2/window.hpp"

namespace farport::transport {

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
