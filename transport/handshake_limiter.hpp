// HandshakeLimiter: bounds handshakes under way, whose peers are known by their address only.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>

namespace farport::transport {

/// What identifies a peer that has not authenticated ("10.0.0.2:51000", "[fd00::2]:51000"): its IPv4 address,
/// or its IPv6 /64 network.
[[nodiscard]] std::string network_of(const std::string& peer);

/// Bounds how many handshakes are under way. Beyond the limit, the oldest handshake of the network with the
/// most of them is ended. A real peer is done within moments, so slow handshakes from other networks
/// continue.
class HandshakeLimiter {
 public:
  explicit HandshakeLimiter(std::size_t limit) : limit_(limit) {}
  HandshakeLimiter(const HandshakeLimiter&) = delete;
  HandshakeLimiter& operator=(const HandshakeLimiter&) = delete;

  /// One handshake under way, for as long as it exists. Must not outlive the HandshakeLimiter.
  class Entry {
   public:
    /// `peer`: address with port; only network_of() of it counts. `end` is called at most once, when this
    /// handshake is evicted.
    Entry(HandshakeLimiter& all, const std::string& peer, std::function<void()> end);
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry();
    /// Whether it was evicted.
    [[nodiscard]] bool ended() const { return ended_; }

   private:
    friend class HandshakeLimiter;
    HandshakeLimiter& all_;
    std::string host_;
    std::function<void()> end_;
    std::uint64_t number_;
    bool ended_ = false;
  };

  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  void make_room();
  void remove(const Entry& entry);

  std::size_t limit_;
  std::size_t count_ = 0;
  std::uint64_t next_number_ = 0;
  std::map<std::string, std::list<Entry*>> by_host_;  ///< Each list has its oldest first.
};

}  // namespace farport::transport
