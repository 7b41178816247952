#include "transport/http2/output.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "transport/tls_stream.hpp"

namespace farport::transport {
namespace {

/// A head that is so many times too large ends the session.
constexpr std::size_t kEndlessHead = 16;
/// Requests and answers of our own have no more.
constexpr std::size_t kUsualFields = 4;
/// Requests that are handed out before others get their turn.
constexpr std::size_t kRequestsPerFeed = 16;

}  // namespace

nghttp2_nv header_field(std::string_view name, std::string_view value, std::uint8_t flags) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), flags};
}

std::vector<nghttp2_nv> header_list(std::initializer_list<nghttp2_nv> first, const HeaderFields& fields) {
  std::vector<nghttp2_nv> list;
  list.reserve(first.size() + fields.size());
  list.assign(first);
  for (const auto& [name, value] : fields) {
    // Our own hold what no other message will: they would only push others out of the peer's table.
    const bool own = name.starts_with("farport-");
    list.push_back(header_field(name, value, own ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE));
  }
  return list;
}

void Http2Heads::begin(std::unique_ptr<Http2Stream> request) {
  receiving_ = std::move(request);
  bytes_ = 0;
}

int Http2Heads::add_field(MessageHead& head, std::string_view name, std::string_view value) {
  bytes_ += name.size() + value.size();
  if (bytes_ > most_) {
    head.too_large = true;
    head.fields.clear();
    // A peer that goes on and on wants no answer.
    return bytes_ > kEndlessHead * most_ ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
  }
  if (name == ":method") {
    head.method = value;
  } else if (name == ":path") {
    head.path = value;
  } else if (name == ":authority") {
    head.authority = value;
  } else if (name == ":status") {
    head.status = std::atoi(std::string(value).c_str());
  } else if (!name.starts_with(':')) {
    if (head.fields.empty()) head.fields.reserve(kUsualFields);
    head.fields.emplace_back(name, value);
  }
  // The rest when those that are there have been handed out.
  paused_ = requests_.size() >= kRequestsPerFeed;
  return paused_ ? NGHTTP2_ERR_PAUSE : 0;
}

namespace {

/// Payloads up to this size are copied behind other small frames, so that they share a record and a write.
constexpr std::size_t kSmallPayload = 2048;
constexpr std::uint8_t kFlagsByte = 4;  // Of a frame header: RFC 9113 section 4.1.

/// Whether a frame with the next bytes of a write comes right after the one with its first `size` bytes.
bool goes_on(nghttp2_session* session, std::int32_t id, const Chunk& chunk, std::size_t size) {
  const std::size_t rest = std::min(chunk.size - size, kMaxPayload);
  const auto credit = nghttp2_session_get_stream_remote_window_size(session, id);
  return rest > 0 && static_cast<std::size_t>(credit) >= size + rest;
}

}  // namespace

void Http2Output::stop() {
  if (std::exchange(pending_, false)) lower_.cancel_write();
  displaced_.put_back();
  in_flight_ = nullptr;
}

bool Http2Output::send_all(nghttp2_session* session) {
  while (!pending_) {
    if (nghttp2_session_send(session) != 0) return false;
    // Nothing collected: either all is written, or what was written last is pending.
    if (collected_.empty() || !write_collected(false)) break;
  }
  if (!pending_ && std::exchange(held_back_, false)) lower_.flush();
  return true;
}

void Http2Output::say_farewell() {
  if (pending_) return;
  finish = true;
  write_lower({}, false);
}

bool Http2Output::has_room_for(std::size_t bytes) const {
  return collected_.empty() || collected_.size() + bytes <= kTlsRecord;
}

ssize_t Http2Output::collect(std::span<const std::byte> frames) {
  if (pending_) return NGHTTP2_ERR_WOULDBLOCK;
  if (!has_room_for(frames.size()) && !write_collected(true)) return NGHTTP2_ERR_WOULDBLOCK;
  collected_.insert(collected_.end(), frames.begin(), frames.end());
  return static_cast<ssize_t>(frames.size());
}

int Http2Output::send_data(nghttp2_session* session, Http2Stream& stream, const std::uint8_t* frame_header,
                           std::size_t size) {
  if (pending_) return NGHTTP2_ERR_WOULDBLOCK;
  const Chunk& payload = stream.write_->chunk;
  const bool in_place = payload.headroom && size > kSmallPayload;
  const int result = in_place ? send_in_place(session, stream, frame_header, size)
                              : send_collected(frame_header, payload, size);
  if (result != 0) return result;
  const bool ends = (frame_header[kFlagsByte] & NGHTTP2_FLAG_END_STREAM) != 0;
  const bool all_sent = stream.sent(size, ends);
  if (all_sent && in_flight_ != &stream) stream.complete_write(IoStatus::ok);
  return 0;
}

int Http2Output::send_collected(const std::uint8_t* frame_header, const Chunk& payload, std::size_t size) {
  if (!has_room_for(kHeadroom + size) && !write_collected(true)) return NGHTTP2_ERR_WOULDBLOCK;
  const auto* header = reinterpret_cast<const std::byte*>(frame_header);
  collected_.insert(collected_.end(), header, header + kHeadroom);
  collected_.insert(collected_.end(), payload.data, payload.data + size);
  return 0;
}

int Http2Output::send_in_place(nghttp2_session* session, Http2Stream& stream,
                               const std::uint8_t* frame_header, std::size_t size) {
  if (!collected_.empty() && !write_collected(true)) return NGHTTP2_ERR_WOULDBLOCK;
  const Chunk& payload = stream.write_->chunk;
  std::byte* frame = payload.data - kHeadroom;
  displaced_.put_header(frame, frame_header);
  if (write_lower(Chunk{frame, kHeadroom + size, false}, goes_on(session, stream.id(), payload, size))) {
    displaced_.put_back();
  } else {
    in_flight_ = &stream;
  }
  return 0;
}

void Http2Output::release(const Http2Stream& stream) {
  if (in_flight_ == &stream) release_all();
}

void Http2Output::release_all() {
  if (in_flight_ == nullptr) return;
  // The record is on its way: what the lower stream has not taken must survive its owner.
  kept_.assign(chunk.data, chunk.data + chunk.size);
  chunk.data = kept_.data();
  displaced_.put_back();
  in_flight_ = nullptr;
}

/// True if all was taken at once.
bool Http2Output::write_collected(bool more_follows) {
  kept_.swap(collected_);
  collected_.clear();
  return write_lower(Chunk{kept_.data(), kept_.size(), false}, more_follows);
}

bool Http2Output::write_lower(Chunk bytes, bool more_follows) {
  chunk = bytes;
  held_back_ = more = more_follows;
  // A failure needs nothing here: the reading side of the session meets it too, and ends the session.
  pending_ = !lower_.begin_write(*this);
  return !pending_;
}

void Http2Output::complete() {
  pending_ = false;
  displaced_.put_back();
  Http2Stream* stream = std::exchange(in_flight_, nullptr);
  if (stream != nullptr && stream->all_sent()) stream->complete_write(status);
  lower_.loop().defer(session_);
}

void Http2Output::Displaced::put_header(std::byte* at, const std::uint8_t* header) {
  place = at;
  std::memcpy(bytes.data(), at, kHeadroom);
  std::memcpy(at, header, kHeadroom);
}

void Http2Output::Displaced::put_back() {
  if (std::byte* at = std::exchange(place, nullptr)) std::memcpy(at, bytes.data(), kHeadroom);
}

}  // namespace farport::transport
