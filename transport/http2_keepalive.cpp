#include "transport/http2_keepalive.hpp"

#include "transport/http2_session.hpp"

namespace farport::transport {

Http2Keepalive::Http2Keepalive(Loop& loop, Http2Session& session, Milliseconds interval, Milliseconds limit)
    : Timer(loop), session_(session), interval_(interval), limit_(limit) {
  if (interval_.count() > 0) start(interval_);
}

void Http2Keepalive::acknowledged() {
  if (!waiting_) return;  // Nobody asked.
  waiting_ = false;
  stop();
  start(interval_);
}

void Http2Keepalive::on_time() {
  // An answer may be behind much else: a peer that says anything at all is there.
  if (waiting_ && !heard_) {
    session_.gone_silent(limit_);
    return;
  }
  if (!waiting_) session_.send_ping();
  waiting_ = true;
  heard_ = false;
  start(limit_);
}

}  // namespace farport::transport
