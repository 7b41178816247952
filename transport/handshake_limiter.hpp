// HandshakeLimiter: how many handshakes are under way. Their peers have no identity yet: all that sets them
// apart are their addresses.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>

namespace farport::transport {

/// What can be told apart of a peer's address ("10.0.0.2:51000", "[fd00::2]:51000"): an IPv4 host, or an IPv6
/// network of 64 bits.
[[nodiscard]] std::string network_of(const std::string& peer);

/// Bounds how many handshakes are under way. One too many ends the oldest of the address that has the most:
/// a real peer is done within moments, so a few slow ones of other addresses go on.
class HandshakeLimiter {
 public:
  explicit HandshakeLimiter(std::size_t limit) : limit_(limit) {}
  HandshakeLimiter(const HandshakeLimiter&) = delete;
  HandshakeLimiter& operator=(const HandshakeLimiter&) = delete;

  /// One of them, for as long as it exists; must not outlive the HandshakeLimiter.
  class Entry {
   public:
    /// `peer`: an address with its port, of which only network_of() counts. `end` is called, at most once,
    /// when this one has to make room.
    Entry(HandshakeLimiter& all, const std::string& peer, std::function<void()> end);
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry();
    /// Whether it had to make room.
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
  std::map<std::string, std::list<Entry*>> by_host_;  ///< The oldest first.
};

}  // namespace farport::transport
