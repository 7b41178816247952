#include "transport/http2/output.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "transport/tls_stream.hpp"

namespace farport::transport {
namespace {

/// Shortest time between two measurements.
constexpr std::chrono::milliseconds kPause{10};
/// PINGs in a row with little traffic before them after which a window shrinks again.
constexpr int kQuietPings = 2;
/// A window's size, at first, as a multiple of what the network holds. Congestion control that goes by
/// measured bandwidth, as BBR does, has up to 2.9 times that in flight until it knows the bandwidth (Linux,
/// tcp_bbr.c: bbr_high_gain), and it learns nothing while credit limits it. Afterwards it keeps no more in
/// flight than the network holds.
constexpr double kPlenty = 4;
/// The multiple for a sender that fills every queue, as loss-based congestion control does.
constexpr double kSpare = 1.5;
/// A standing queue is assumed after so many slow PINGs in a row, and no longer assumed after so many fast
/// ones. Slow: kQueued times the network's own round trip.
constexpr int kStandingQueue = 50;
constexpr double kQueued = 1.25;
/// A window shrinks after so many PINGs in a row that ask for less than half of it. The network, or the
/// reader, has become slower.
constexpr int kTooLarge = 3;

}  // namespace

bool Http2Window::received(std::size_t bytes, Clock::time_point now) {
  received_ += bytes;
  since_ping_ += bytes;
  if (measuring_ || smallest_ == largest_ || now - sent_at_ < kPause) return false;
  return received_ >= size_ / 2;
}

void Http2Window::ping_sent(Clock::time_point now) {
  quiet_ = std::exchange(since_ping_, 0) < smallest_ / 2 ? quiet_ + 1 : 0;
  measuring_ = true;
  sent_at_ = now;
  received_ = 0;
}

std::optional<std::uint32_t> Http2Window::ping_acknowledged(Clock::time_point now) {
  if (!std::exchange(measuring_, false)) return std::nullopt;
  const Clock::duration took = std::max(now - sent_at_, Clock::duration{1});
  round_trip_ = std::min(round_trip_, took);
  const auto came = static_cast<double>(std::exchange(received_, 0));
  if (quiet_ >= kQuietPings) {
    last_product_ = 0;
    queue_ = {};
    return resize(smallest_);
  }
  const double longer = static_cast<double>(took.count()) / static_cast<double>(round_trip_.count());
  const bool found_out = queue_.is_new(longer > kQueued);
  // The smaller of two measurements: after a lost packet, everything that waited for it comes at once.
  const double product = came / longer;
  const double sure = std::min(std::exchange(last_product_, product), product);
  // A sender that waits for credit delivers nearly a whole window per round trip. So windows grow step by
  // step: the effect of a larger one shows only when it is in use.
  const double wanted = (queue_.stands ? kSpare : kPlenty) * sure;
  too_large_ = 2 * wanted < size_ ? too_large_ + 1 : 0;
  return found_out || wanted > size_ || too_large_ >= kTooLarge ? resize(wanted) : std::nullopt;
}

bool Http2Window::Queue::is_new(bool seen) {
  against = seen == stands ? 0 : against + 1;
  if (against < kStandingQueue) return false;
  against = 0;
  stands = seen;
  return stands;
}

std::uint32_t Http2Window::credit_unit() const {
  constexpr std::chrono::milliseconds kFar{2};
  constexpr std::uint32_t kUnit = 256 * 1024;
  const bool far = round_trip_ >= kFar && round_trip_ != Clock::duration::max();
  return far ? std::min(kUnit, size_ / 2) : size_ / 2;
}

std::optional<std::uint32_t> Http2Window::resize(double wanted) {
  const auto size = static_cast<std::uint32_t>(std::clamp<double>(wanted, smallest_, largest_));
  if (size == size_) return std::nullopt;
  size_ = size;
  return size;
}

bool Http2FlowControl::received(std::size_t bytes) {
  return window_.received(bytes, Http2Window::Clock::now());
}

void Http2FlowControl::ping_acknowledged() {
  const auto window = window_.ping_acknowledged(Http2Window::Clock::now());
  if (!window) return;
  const nghttp2_settings_entry setting{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, *window};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, &setting, 1);
}

void Http2FlowControl::consumed(const Http2Stream& stream, std::size_t bytes) {
  nghttp2_session_consume_stream(session_, stream.id(), bytes);
  // nghttp2 has sent WINDOW_UPDATE by itself if half of a window was consumed.
  give_credit(stream, static_cast<std::int32_t>(window_.credit_unit()));
}

/// Sends WINDOW_UPDATE if at least `at_least` bytes were consumed since the last one.
void Http2FlowControl::give_credit(const Http2Stream& stream, std::int32_t at_least) {
  const std::int32_t held = nghttp2_session_get_stream_effective_recv_data_length(session_, stream.id());
  const std::int32_t read = held - static_cast<std::int32_t>(stream.unread());
  if (read >= at_least) nghttp2_submit_window_update(session_, NGHTTP2_FLAG_NONE, stream.id(), read);
}

std::uint64_t Http2FlowControl::acknowledged(const Http2Stream& stream, std::uint64_t sent) const {
  const std::int32_t window = nghttp2_session_get_stream_remote_window_size(session_, stream.id());
  const std::uint32_t initial = peer_window();
  // No credit is left, or less than none, since a peer's window can shrink.
  if (window <= 0 || static_cast<std::uint32_t>(window) > initial) return 0;
  const std::uint64_t without_credit = initial - static_cast<std::uint32_t>(window);
  return sent - std::min(sent, without_credit);
}

std::size_t Http2FlowControl::unsent() const {
  // A peer's window tells how much its network holds (Http2Window). Keep about a hundredth of that unsent,
  // which lasts about a hundredth of a round trip.
  constexpr std::uint32_t kPart = 128;
  constexpr std::uint32_t kMaxUnsent = 512 * 1024;
  return std::min(peer_window() / kPart, kMaxUnsent);
}

std::uint32_t Http2FlowControl::peer_window() const {
  return nghttp2_session_get_remote_settings(session_, NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
}

namespace {

/// A head this many times over the limit ends the session.
constexpr std::size_t kEndlessHead = 16;
/// Number of fields that our own requests and answers usually have.
constexpr std::size_t kUsualFields = 4;
/// Requests handed to the handler before others get their turn.
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
    // The values of our own fields are unique; indexed, they would only push others out of the peer's table.
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
    // A peer that sends an endless head gets no answer.
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
  // nghttp2 goes on once the waiting requests have been handed out.
  paused_ = requests_.size() >= kRequestsPerFeed;
  return paused_ ? NGHTTP2_ERR_PAUSE : 0;
}

namespace {

/// Payloads up to this size are copied behind other small frames, so that they share a record and a write.
constexpr std::size_t kSmallPayload = 2048;
constexpr std::uint8_t kFlagsByte = 4;  // In a frame header: RFC 9113 section 4.1.

/// Whether the next DATA frame can follow at once, after one with the first `size` bytes of this chunk.
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
    // Nothing is collected: either all is written, or the latest write is pending.
    if (collected_.empty() || !write_collected(false)) break;
  }
  if (!pending_ && std::exchange(held_back_, false)) lower_.flush();
  return true;
}

void Http2Output::half_close() {
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
  // The record is being written, so bytes that the lower stream has not taken must outlive their owner.
  kept_.assign(chunk.data, chunk.data + chunk.size);
  chunk.data = kept_.data();
  displaced_.put_back();
  in_flight_ = nullptr;
}

/// Returns true if all was taken at once.
bool Http2Output::write_collected(bool more_follows) {
  kept_.swap(collected_);
  collected_.clear();
  return write_lower(Chunk{kept_.data(), kept_.size(), false}, more_follows);
}

bool Http2Output::write_lower(Chunk bytes, bool more_follows) {
  chunk = bytes;
  held_back_ = more = more_follows;
  // A failure needs no handling here: the session's read fails too, and ends the session.
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
