// The PINGs of an HTTP/2 session (RFC 9113 section 6.7): they tell a session that has gone silent from one
// that has nothing to say.
#pragma once

#include <cstdint>

#include "transport/timer.hpp"

namespace farport::transport {

class Http2Keepalive final : private Timer {
 public:
  /// Whose PINGs they are.
  class Connection {
   public:
    virtual void send_ping() = 0;
    /// Nothing has come for so long since a PING.
    virtual void gone_silent(Milliseconds limit) = 0;

   protected:
    ~Connection() = default;
  };

  /// Sends a PING every `interval`; a peer from which nothing has come for `limit` since then has gone
  /// silent. An interval of 0: never.
  Http2Keepalive(Loop& loop, Connection& connection, Milliseconds interval, Milliseconds limit);
  ~Http2Keepalive() = default;

  /// Something has come from the peer.
  void heard() { heard_ = true; }
  /// The peer has acknowledged the PING.
  void acknowledged();
  /// Sends one as soon as none is under way. Returns its number: when that many have been acknowledged, all
  /// that was sent before has arrived.
  std::uint64_t ask();
  [[nodiscard]] std::uint64_t acknowledged_count() const { return acknowledged_; }
  void end() { stop(); }

 private:
  void on_time() override;
  void send();

  Connection& connection_;
  Milliseconds interval_;
  Milliseconds limit_;
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t asked_ = 0;  ///< The number of the last one that was asked for.
  bool heard_ = false;       ///< Since the timer was last started.
};

}  // namespace farport::transport
