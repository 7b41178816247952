// Http2Streams: the streams of one session: those that are open, and those that both sides have ended, for as
// long as their users may ask whether the end has arrived.
#pragma once

#include <memory>

#include <nghttp2/nghttp2.h>

#include "transport/http2/stream.hpp"

namespace farport::transport {

/// The streams belong to their users, and leave these lists when they are destroyed.
class Http2Streams {
 public:
  /// Both outlive the streams' time in here.
  Http2Streams(Loop& loop, Http2Connection& connection, nghttp2_session* session)
      : loop_(loop), connection_(connection), session_(session) {}

  /// An open stream of this number.
  [[nodiscard]] std::unique_ptr<Http2Stream> make(std::int32_t id);
  /// The stream is open no more.
  void remove(Http2Stream& stream);
  /// A stream that remove() was called for has been ended by both sides: it may ask for confirm_ends().
  void add_ended(Http2Stream& stream);
  /// Tells the streams whose end has surely arrived: so many PINGs have been acknowledged.
  void confirm_ends(std::uint64_t acknowledged_pings);
  /// All of them fail. `lost`: since the connection broke.
  void close_all(const Error& why, bool lost);

  /// How many are open.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Calls act(Http2Stream&) for each that is open.
  template <typename Act>
  void for_each(Act act) {
    open_.for_each([&act](ListNode& node) { act(static_cast<Http2Stream&>(node)); });
  }

 private:
  Loop& loop_;
  Http2Connection& connection_;
  nghttp2_session* session_;
  NodeList open_;
  std::size_t size_ = 0;
  NodeList ended_;
};

}  // namespace farport::transport
