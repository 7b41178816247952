// What nghttp2 calls, translated into calls of Http2Session.
#pragma once

#include "transport/http2_session.hpp"

namespace farport::transport {

struct Http2Session::Callbacks {
  /// The callbacks of every session. The caller frees them with nghttp2_session_callbacks_del().
  static nghttp2_session_callbacks* make();
  /// The body of an outgoing message: bytes come from the stream's write, where they lie.
  static nghttp2_data_provider body();
};

}  // namespace farport::transport
