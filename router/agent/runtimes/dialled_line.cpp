#include "router/agent/runtimes/dialled_line.hpp"

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

struct DialledLine::Taker : transport::ListNode {
  explicit Taker(transport::Loop& loop) : served(loop) {}
  std::unique_ptr<FdStream> connection;
  transport::Event served;
};

void DialledLine::add(std::unique_ptr<FdStream> connection) {
  drop_closed();
  if (closed_) return;
  if (auto* taker = static_cast<Taker*>(takers_.pop())) {
    taker->connection = std::move(connection);
    taker->served.set();
    return;
  }
  if (waiting_.size() >= kMaxWaiting) waiting_.pop_front();
  waiting_.push_back(std::move(connection));
}

Task<RuntimePort::Connection> DialledLine::take(std::shared_ptr<DialledLine> line) {
  line->drop_closed();
  if (!line->waiting_.empty()) {
    auto connection = std::move(line->waiting_.front());
    line->waiting_.pop_front();
    co_return line->hand_out(std::move(connection));
  }
  Taker taker(line->loop_);
  if (!line->closed_) {
    line->takers_.push(taker);
    co_await with_deadline(line->loop_, taker.served.wait(), kRedialLimit);
  }
  if (taker.connection != nullptr) co_return line->hand_out(std::move(taker.connection));
  if (line->closed_) co_return fail("reach", line->name_, "it has ended");
  co_return fail("reach", line->name_, "it has not dialled in again within 5 s",
                 "wait until it is done with another command, such as a dump");
}

void DialledLine::close() {
  closed_ = true;
  waiting_.clear();
  while (auto* taker = static_cast<Taker*>(takers_.pop())) taker->served.set();
}

bool DialledLine::alive() {
  drop_closed();
  return !waiting_.empty() || taken_.use_count() > 1;
}

void DialledLine::drop_closed() {
  std::erase_if(waiting_, [](const auto& connection) { return !is_quiet(*connection); });
}

std::unique_ptr<FdStream> DialledLine::hand_out(std::unique_ptr<FdStream> connection) {
  connection->keep(taken_);
  return connection;
}

}  // namespace farport::router
