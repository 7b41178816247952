#include "transport/http2_keepalive.hpp"

#include "transport/http2_session.hpp"

namespace farport::transport {

Http2Keepalive::Http2Keepalive(Loop& loop, Http2Session& session, Milliseconds interval, Milliseconds limit)
    : Timer(loop), session_(session), interval_(interval), limit_(limit) {
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
  session_.send_ping();
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
    session_.gone_silent(limit_);
  }
}

}  // namespace farport::transport
