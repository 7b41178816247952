// The connections to an agent that are open, for when it stops.
#pragma once

#include <functional>

#include "base/error.hpp"
#include "transport/loop.hpp"

namespace farport::router {

class LiveConnections {
 public:
  LiveConnections() = default;
  LiveConnections(const LiveConnections&) = delete;
  LiveConnections& operator=(const LiveConnections&) = delete;

  /// Asks each to take nothing new, and to end with what it has.
  void drain();
  /// Ends each.
  void end();

 private:
  friend class LiveConnection;
  transport::NodeList open_;
};

/// Keeps a connection among them for as long as it lives.
class LiveConnection final : private transport::ListNode {
 public:
  /// Both are called from the loop. `drain` may be empty: for one that carries nothing new anyway.
  LiveConnection(LiveConnections& connections, std::function<void()> drain, std::function<void()> end)
      : drain_(std::move(drain)), end_(std::move(end)) {
    connections.open_.push(*this);
  }
  ~LiveConnection() = default;

 private:
  friend class LiveConnections;
  std::function<void()> drain_;
  std::function<void()> end_;
};

inline void LiveConnections::drain() {
  open_.for_each([](transport::ListNode& node) {
    const auto& connection = static_cast<const LiveConnection&>(node);
    if (connection.drain_) connection.drain_();
  });
}
inline void LiveConnections::end() {
  open_.for_each([](transport::ListNode& node) { static_cast<const LiveConnection&>(node).end_(); });
}

}  // namespace farport::router
