#include "transport/http2/keepalive.hpp"

namespace farport::transport {

Http2Keepalive::Http2Keepalive(Loop& loop, Connection& connection, Milliseconds interval, Milliseconds limit)
    : Timer(loop), connection_(connection), interval_(interval), limit_(limit) {
  if (interval_.count() > 0) start(interval_);
}

void Http2Keepalive::acknowledged() {
  if (acknowledged_ == sent_) return;  // Nobody asked.
  acknowledged_ = sent_;
  stop();
  if (asked_ > sent_) {
    send();
  } else if (interval_.count() > 0) {
    start(interval_);
  }
}

std::uint64_t Http2Keepalive::ask() {
  asked_ = sent_ + 1;
  if (acknowledged_ == sent_) {
    stop();
    send();
  }
  return asked_;
}

void Http2Keepalive::send() {
  ++sent_;
  heard_ = false;
  connection_.send_ping();
  start(limit_);
}

void Http2Keepalive::on_time() {
  if (acknowledged_ == sent_) {
    send();
  } else if (heard_) {
    // The answer may be behind much else: a peer that says anything at all is there.
    heard_ = false;
    start(limit_);
  } else {
    connection_.gone_silent(limit_);
  }
}

}  // namespace farport::transport
