#include "router/agent/runtimes/connection_queue.hpp"

#include <cerrno>

#include <sys/socket.h>

#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::Task;

constexpr std::size_t kMaxWaiting = 4;

/// Whether the peer still listens in silence: it may neither have closed its end nor said anything, since it
/// is our turn to speak.
bool is_quiet(const FdStream& connection) {
  char next = 0;
  return ::recv(connection.fd(), &next, sizeof next, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

}  // namespace

struct ConnectionQueue::Waiter : transport::ListNode {
  explicit Waiter(transport::Loop& loop) : served(loop) {}
  std::unique_ptr<FdStream> connection;
  transport::Event served;
};

void ConnectionQueue::add(std::unique_ptr<FdStream> connection) {
  drop_closed();
  if (closed_) return;
  if (auto* waiter = static_cast<Waiter*>(waiters_.pop())) {
    waiter->connection = std::move(connection);
    waiter->served.set();
    return;
  }
  if (waiting_.size() >= kMaxWaiting) waiting_.pop_front();
  waiting_.push_back(std::move(connection));
}

Task<DiagnosticPort::Connection> ConnectionQueue::take(std::shared_ptr<ConnectionQueue> queue) {
  queue->drop_closed();
  if (!queue->waiting_.empty()) {
    auto connection = std::move(queue->waiting_.front());
    queue->waiting_.pop_front();
    co_return queue->acquire(std::move(connection));
  }
  Waiter waiter(queue->loop_);
  if (!queue->closed_) {
    queue->waiters_.push(waiter);
    co_await with_deadline(queue->loop_, waiter.served.wait(), kRedialLimit);
  }
  if (waiter.connection != nullptr) co_return queue->acquire(std::move(waiter.connection));
  if (queue->closed_) co_return fail("reach", queue->name_, "it has ended");
  co_return fail("reach", queue->name_, "it has not dialled in again within 5 s",
                 "wait until it is done with another command, such as a dump");
}

void ConnectionQueue::close() {
  closed_ = true;
  waiting_.clear();
  while (auto* waiter = static_cast<Waiter*>(waiters_.pop())) waiter->served.set();
}

bool ConnectionQueue::alive() {
  drop_closed();
  return !waiting_.empty() || taken_.use_count() > 1;
}

void ConnectionQueue::drop_closed() {
  std::erase_if(waiting_, [](const auto& connection) { return !is_quiet(*connection); });
}

std::unique_ptr<FdStream> ConnectionQueue::acquire(std::unique_ptr<FdStream> connection) {
  connection->keep(taken_);
  return connection;
}

}  // namespace farport::router
