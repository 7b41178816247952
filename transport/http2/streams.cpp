#include "transport/http2/streams.hpp"

namespace farport::transport {

std::unique_ptr<Http2Stream> Http2Streams::make(std::int32_t id) {
  auto stream = std::make_unique<Http2Stream>(loop_, connection_, id);
  nghttp2_session_set_stream_user_data(session_, id, stream.get());
  open_.push(*stream);
  ++size_;
  return stream;
}

void Http2Streams::remove(Http2Stream& stream) {
  stream.unlink();
  --size_;
}

void Http2Streams::add_ended(Http2Stream& stream) {
  stream.ended_in_ = &connection_;
  ended_.push(stream);
}

void Http2Streams::confirm_ends(std::uint64_t acknowledged_pings) {
  ended_.for_each([&](ListNode& node) {
    auto& stream = static_cast<Http2Stream&>(node);
    const bool confirmed = stream.confirmed_by_ != 0 && stream.confirmed_by_ <= acknowledged_pings;
    if (!confirmed) return;
    stream.unlink();
    stream.ended_in_ = nullptr;
    stream.end_known(false);
  });
}

void Http2Streams::close_all(const Error& why, bool lost) {
  size_ = 0;
  while (ListNode* node = open_.pop()) {
    auto* stream = static_cast<Http2Stream*>(node);
    nghttp2_session_set_stream_user_data(session_, stream->id_, nullptr);
    stream->lost_ = lost;
    stream->closed(why, false);
  }
  while (ListNode* node = ended_.pop()) {
    auto* stream = static_cast<Http2Stream*>(node);
    stream->ended_in_ = nullptr;
    if (stream->confirmed_by_ != 0) stream->end_known(lost);
  }
}

}  // namespace farport::transport
