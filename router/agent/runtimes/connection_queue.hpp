// The connections of a runtime that has dialled in: those that wait for a command, and the commands that wait
// for one.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "router/agent/runtimes/diagnostic_port.hpp"
#include "transport/event.hpp"

namespace farport::router {

/// Shared by the runtime's port and by the commands under way, which may outlive it.
class ConnectionQueue {
 public:
  /// `name` stands for the runtime in errors.
  ConnectionQueue(transport::Loop& loop, std::string name) : loop_(loop), name_(std::move(name)) {}
  ConnectionQueue(const ConnectionQueue&) = delete;
  ConnectionQueue& operator=(const ConnectionQueue&) = delete;

  /// A runtime has one connection that waits; another process may pretend to have any number. The oldest is
  /// closed where there are more than a few.
  void add(std::unique_ptr<transport::FdStream> connection);

  /// The next connection, in the order of asking: a runtime that has got a command dials again at once.
  /// Errors: it doesn't within kRedialLimit, or close() was called.
  static transport::Task<DiagnosticPort::Connection> take(std::shared_ptr<ConnectionQueue> queue);

  /// The runtime has ended: drops the connections that wait, and fails the commands that wait. What was taken
  /// lives on.
  void close();

  /// Whether a connection is open, in here or in a command's hands.
  [[nodiscard]] bool alive();

  static constexpr transport::Milliseconds kRedialLimit{5000};

 private:
  struct Waiter;
  void drop_closed();
  std::unique_ptr<transport::FdStream> acquire(std::unique_ptr<transport::FdStream> connection);

  transport::Loop& loop_;
  std::string name_;
  std::deque<std::unique_ptr<transport::FdStream>> waiting_;
  transport::NodeList waiters_;
  bool closed_ = false;
  /// Each connection that was taken holds it too: its use count tells how many of them still live.
  std::shared_ptr<void> taken_ = std::make_shared<char>();
};

}  // namespace farport::router
