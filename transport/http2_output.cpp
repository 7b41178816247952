// The way out of an Http2Session: which bytes are written when, and where they lie meanwhile. Small frames
// are collected into one record; a large payload is written where it lies, its frame header in the headroom.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transport/http2_session.hpp"
#include "transport/tls_stream.hpp"

namespace farport::transport {
namespace {

/// Payloads up to this size are copied behind other small frames, so that they share a record and a write.
constexpr std::size_t kSmallPayload = 2048;
/// How long a peer that has been told that the session is over may take to close it.
constexpr Milliseconds kFarewell{1000};
constexpr std::uint8_t kFlagsByte = 4;  // Of a frame header: RFC 9113 section 4.1.

}  // namespace

void Http2Session::turn_end() {
  if (limits_.account != nullptr && holding_ == nullptr && !ended_) {
    abort(Error{"go on with", "the session", "the agent keeps as much as it may", {}, ENOBUFS});
  }
  while (!lower_pending_) {
    if (nghttp2_session_send(session_.get()) != 0) {
      lower_->abort(Error{"go on with", "the session", "out of memory", {}, 0});
      return;
    }
    // Nothing collected: either all is written, or what was written last is pending.
    if (collected_.empty() || !write_collected(false)) break;
  }
  if (!lower_pending_ && std::exchange(held_back_, false)) lower_->flush();
  count();
  end_if_over();
}

void Http2Session::end_if_over() {
  if (draining_out_ && streams_.empty() && receiving_ == nullptr && requests_.empty()) {
    draining_out_ = false;
    leave();
  }
  if (lower_pending_ || farewell_ || nghttp2_session_want_read(session_.get()) != 0 ||
      nghttp2_session_want_write(session_.get()) != 0) {
    return;
  }
  // Closing first could cut off what the peer has not read yet, such as why.
  say_farewell();
  farewell_.emplace(loop_, kFarewell, [this] {
    end(Error{"go on with", "the session", "one side has ended it (GOAWAY)", {}, 0}, false);
  });
}

/// Ends our direction properly: the peer then knows that nothing is missing.
void Http2Session::say_farewell() {
  if (lower_pending_) return;
  finish = true;
  write_lower({}, false);
}

ssize_t Http2Session::collect(const std::uint8_t* data, std::size_t size) {
  if (lower_pending_) return NGHTTP2_ERR_WOULDBLOCK;
  if (!collected_.empty() && collected_.size() + size > kTlsRecord && !write_collected(true)) {
    return NGHTTP2_ERR_WOULDBLOCK;
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  collected_.insert(collected_.end(), bytes, bytes + size);
  return static_cast<ssize_t>(size);
}

int Http2Session::send_data(Http2Stream& stream, const std::uint8_t* frame_header, std::size_t size) {
  if (lower_pending_) return NGHTTP2_ERR_WOULDBLOCK;
  WriteOperation& write = *stream.write_;
  const bool in_place = write.chunk.headroom && size > kSmallPayload;
  const int result =
      in_place ? send_in_place(stream, frame_header, size) : send_collected(frame_header, write.chunk, size);
  if (result != 0) return result;
  write.chunk.advance(size);
  stream.sent_ += size;
  if ((frame_header[kFlagsByte] & NGHTTP2_FLAG_END_STREAM) != 0) stream.outbound_ended_ = true;
  const bool taken = write.chunk.size == 0 && (stream.outbound_ended_ || !write.finish);
  if (taken && in_flight_ != &stream) stream.complete_write(IoStatus::ok);
  return 0;
}

int Http2Session::send_collected(const std::uint8_t* frame_header, const Chunk& payload, std::size_t size) {
  if (!collected_.empty() && collected_.size() + kHeadroom + size > kTlsRecord && !write_collected(true)) {
    return NGHTTP2_ERR_WOULDBLOCK;
  }
  const auto* header = reinterpret_cast<const std::byte*>(frame_header);
  collected_.insert(collected_.end(), header, header + kHeadroom);
  collected_.insert(collected_.end(), payload.data, payload.data + size);
  return 0;
}

int Http2Session::send_in_place(Http2Stream& stream, const std::uint8_t* frame_header, std::size_t size) {
  if (!collected_.empty() && !write_collected(true)) return NGHTTP2_ERR_WOULDBLOCK;
  std::byte* frame = stream.write_->chunk.data - kHeadroom;
  displaced_.put_header(frame, frame_header);
  if (write_lower(Chunk{frame, kHeadroom + size, false}, goes_on(stream, size))) {
    displaced_.put_back();
  } else {
    in_flight_ = &stream;
  }
  return 0;
}

/// Whether a frame with the next bytes of the same write comes right after the one with `size` bytes.
bool Http2Session::goes_on(const Http2Stream& stream, std::size_t size) const {
  const std::size_t rest = std::min(stream.write_->chunk.size - size, kMaxPayload);
  const auto credit = nghttp2_session_get_stream_remote_window_size(session_.get(), stream.id_);
  return rest > 0 && static_cast<std::size_t>(credit) >= size + rest;
}

void Http2Session::Displaced::put_header(std::byte* at, const std::uint8_t* header) {
  place = at;
  std::memcpy(bytes.data(), at, kHeadroom);
  std::memcpy(at, header, kHeadroom);
}

void Http2Session::Displaced::put_back() {
  if (std::byte* at = std::exchange(place, nullptr)) std::memcpy(at, bytes.data(), kHeadroom);
}

/// True if all was taken at once.
bool Http2Session::write_collected(bool more_follows) {
  kept_.swap(collected_);
  collected_.clear();
  return write_lower(Chunk{kept_.data(), kept_.size(), false}, more_follows);
}

bool Http2Session::write_lower(Chunk bytes, bool more_follows) {
  chunk = bytes;
  held_back_ = more = more_follows;
  // A failure needs nothing here: the reading side of the session meets it too, and ends the session.
  lower_pending_ = !lower_->begin_write(*this);
  return !lower_pending_;
}

void Http2Session::complete() {
  lower_pending_ = false;
  displaced_.put_back();
  Http2Stream* stream = std::exchange(in_flight_, nullptr);
  if (stream != nullptr && stream->write_ != nullptr && stream->write_->chunk.size == 0 &&
      (stream->outbound_ended_ || !stream->write_->finish)) {
    stream->complete_write(status);
  }
  loop_.at_turn_end(*this);
}

}  // namespace farport::transport
