// The heads of an HTTP/2 session's messages (RFC 9113 section 8.1): those that come, field by field, and
// those that are sent.
#pragma once

#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "transport/http2/stream.hpp"

namespace farport::transport {

/// A header field as nghttp2 takes it. It refers to the strings. `flags`: NGHTTP2_NV_FLAG_…
[[nodiscard]] nghttp2_nv header_field(std::string_view name, std::string_view value,
                                      std::uint8_t flags = NGHTTP2_NV_FLAG_NONE);
/// All fields of a head: those of the protocol first. They refer to the strings.
[[nodiscard]] std::vector<nghttp2_nv> header_list(std::initializer_list<nghttp2_nv> first,
                                                  const HeaderFields& fields);

/// The heads that are being received, one at a time, and the requests that have come whole and wait to be
/// handed out.
class Http2Heads {
 public:
  /// A head with more than `most` bytes in its fields is too large (MessageHead::too_large).
  explicit Http2Heads(std::size_t most) : most_(most) {}

  /// A request's head begins to come. Its stream is kept until take_requests().
  void begin(std::unique_ptr<Http2Stream> request);
  /// Adds a field: 0; NGHTTP2_ERR_PAUSE where enough requests wait to be handed out; or an error that ends
  /// the session, for a head that goes on and on.
  int add_field(MessageHead& head, std::string_view name, std::string_view value);
  /// A head has come whole. Returns its size in bytes.
  std::size_t end() { return std::exchange(bytes_, 0); }
  /// Whether `stream` is the request whose head is being received.
  [[nodiscard]] bool receives(const Http2Stream& stream) const { return receiving_.get() == &stream; }
  /// That request waits to be handed out from now on.
  void request_received() { requests_.push_back(std::move(receiving_)); }
  /// Gives that request up.
  void drop() { receiving_.reset(); }

  /// Whether nghttp2 has been told to pause: there may be more in what it was given.
  [[nodiscard]] bool paused() const { return paused_; }
  /// nghttp2 goes on.
  void resume() { paused_ = false; }
  [[nodiscard]] std::vector<std::unique_ptr<Http2Stream>> take_requests() {
    return std::exchange(requests_, {});
  }
  /// Whether nothing is being received or waits to be handed out.
  [[nodiscard]] bool empty() const { return receiving_ == nullptr && requests_.empty(); }

 private:
  std::size_t most_;
  std::size_t bytes_ = 0;  ///< Received of the head under way.
  std::unique_ptr<Http2Stream> receiving_;
  std::vector<std::unique_ptr<Http2Stream>> requests_;
  bool paused_ = false;
};

}  // namespace farport::transport
