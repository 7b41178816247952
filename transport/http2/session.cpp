#include "transport/http2/session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/resources.hpp"
#include "base/text.hpp"
#include "transport/http2/stream.hpp"
#include "transport/tls_stream.hpp"

namespace farport::transport {
namespace {

std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

Http2Session& session_of(void* user_data) {
  return *static_cast<Http2Session*>(user_data);
}

// NOLINTBEGIN(cppcoreguidelines-no-malloc)

/// For each session nghttp2 keeps room for a frame of 16 KiB, and rarely uses more than its beginning. The
/// pages behind that take no memory until they are used.
void* reallocate(void* block, std::size_t size, void*) {
  constexpr std::size_t kRoomForFrame = 16384;
  void* const larger = std::realloc(block, size);
  if (block == nullptr && larger != nullptr && size >= kRoomForFrame)
    drop_pages(std::span(static_cast<std::byte*>(larger), size));
  return larger;
}

/// What nghttp2 would use by itself, but for reallocate().
nghttp2_mem memory_for_frames() {
  return {nullptr, [](std::size_t size, void*) { return std::malloc(size); },
          [](void* block, void*) { std::free(block); },
          [](std::size_t count, std::size_t size, void*) { return std::calloc(count, size); }, reallocate};
}

// NOLINTEND(cppcoreguidelines-no-malloc)

}  // namespace

Http2Stream* Http2Callbacks::find(nghttp2_session* session, std::int32_t id) {
  return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session, id));
}

nghttp2_session_callbacks* Http2Callbacks::make() {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_session_callbacks_new(&callbacks);

  nghttp2_session_callbacks_set_send_callback(
      callbacks,
      [](nghttp2_session*, const std::uint8_t* data, std::size_t size, int, void* user) -> ssize_t {
        return session_of(user).send(std::as_bytes(std::span(data, size)));
      });
  nghttp2_session_callbacks_set_send_data_callback(
      callbacks, [](nghttp2_session* session, nghttp2_frame* frame, const std::uint8_t* header,
                    std::size_t size, nghttp2_data_source*, void* user) {
        Http2Stream* stream = find(session, frame->hd.stream_id);
        if (stream == nullptr || stream->write_ == nullptr) {
          return static_cast<int>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE);
        }
        return session_of(user).send_data(*stream, header, size);
      });
  nghttp2_session_callbacks_set_data_source_read_length_callback(
      callbacks,
      [](nghttp2_session*, std::uint8_t, std::int32_t, std::int32_t session_window,
         std::int32_t stream_window, std::uint32_t max_frame, void*) -> ssize_t {
        return std::min<std::int64_t>({session_window, stream_window, max_frame, kMaxPayload});
      });

  nghttp2_session_callbacks_set_on_begin_headers_callback(
      callbacks, [](nghttp2_session*, const nghttp2_frame* frame, void* user) {
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) session_of(user).request_begins(frame->hd.stream_id);
        return 0;
      });
  nghttp2_session_callbacks_set_on_header_callback(
      callbacks,
      [](nghttp2_session* session, const nghttp2_frame* frame, const std::uint8_t* name,
         std::size_t name_size, const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
        Http2Stream* stream = find(session, frame->hd.stream_id);
        if (stream == nullptr) return 0;
        return session_of(user).field_received(*stream, text(name, name_size), text(value, value_size));
      });
  nghttp2_session_callbacks_set_on_frame_recv_callback(
      callbacks, [](nghttp2_session* session, const nghttp2_frame* frame, void* user) {
        frame_received(session, *frame, session_of(user));
        return 0;
      });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      callbacks, [](nghttp2_session* session, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                    std::size_t size, void* user) {
        // Reopens the connection's window at once, so that a stalled stream holds up no other.
        nghttp2_session_consume_connection(session, size);
        Http2Stream* stream = find(session, id);
        if (stream != nullptr) session_of(user).data_received(*stream, std::as_bytes(std::span(data, size)));
        return 0;
      });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      callbacks, [](nghttp2_session* session, std::int32_t id, std::uint32_t error_code, void* user) {
        Http2Stream* stream = find(session, id);
        if (stream != nullptr) session_of(user).stream_closed(*stream, error_code);
        return 0;
      });
  return callbacks;
}

/// A complete frame. Its stream may have been dropped by its user.
void Http2Callbacks::frame_received(nghttp2_session* session, const nghttp2_frame& frame,
                                    Http2Session& owner) {
  const bool acknowledges = (frame.hd.flags & NGHTTP2_FLAG_ACK) != 0;
  const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
  Http2Stream* stream = frame.hd.stream_id == 0 ? nullptr : find(session, frame.hd.stream_id);
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS:
      owner.head_received(stream);
      [[fallthrough]];
    case NGHTTP2_DATA:
      if (stream != nullptr && ends) stream->received_end();
      break;
    case NGHTTP2_WINDOW_UPDATE:
      if (stream != nullptr && stream->acknowledged_wake_ != nullptr) stream->acknowledged_wake_->wake();
      break;
    case NGHTTP2_SETTINGS:
      acknowledges ? owner.settings_acknowledged() : owner.settings_received();
      break;
    case NGHTTP2_PING:
      acknowledges ? owner.ping_acknowledged() : owner.ping_received();
      break;
    case NGHTTP2_GOAWAY:
      owner.goaway_received(frame.goaway.error_code,
                            text(frame.goaway.opaque_data, frame.goaway.opaque_data_len));
      break;
    default:
      break;
  }
}

nghttp2_data_provider Http2Callbacks::body() {
  nghttp2_data_provider provider{};
  provider.read_callback = [](nghttp2_session* session, std::int32_t id, std::uint8_t*, std::size_t room,
                              std::uint32_t* flags, nghttp2_data_source*, void*) -> ssize_t {
    Http2Stream* stream = find(session, id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    const WriteOperation* write = stream->write_;
    if (write == nullptr) return NGHTTP2_ERR_DEFERRED;
    const std::size_t size = std::min(write->chunk.size, room);
    if (size == 0 && !write->finish) return NGHTTP2_ERR_DEFERRED;
    *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (write->finish && size == write->chunk.size) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (stream->submit_trailer()) *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    }
    return static_cast<ssize_t>(size);
  };
  return provider;
}

std::unique_ptr<Http2Stream> Http2Streams::make(std::int32_t id) {
  auto stream = std::make_unique<Http2Stream>(loop_, owner_, id);
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
  stream.ended_in_ = &owner_;
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
  // A session that is ended for its memory does not wait for its peer to say what has arrived.
  const bool ends_lost = lost || why.cause == ENOBUFS;
  while (ListNode* node = ended_.pop()) {
    auto* stream = static_cast<Http2Stream*>(node);
    stream->ended_in_ = nullptr;
    stream->lost_ = ends_lost;
    if (stream->confirmed_by_ != 0) stream->end_known(ends_lost);
  }
}

Http2Keepalive::Http2Keepalive(Loop& loop, Http2Session& session, Milliseconds interval, Milliseconds limit)
    : Timer(loop), session_(session), interval_(interval), limit_(limit), heard_at_ms_(loop.now_ms()) {
  if (interval_.count() > 0) start(interval_);
}

void Http2Keepalive::acknowledged() {
  if (acknowledged_ == sent_) return;  // No PING of ours is open.
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
  late_ = false;
  session_.send_ping();
  start(limit_);
}

void Http2Keepalive::on_time() {
  if (acknowledged_ == sent_) {
    session_.give_all_credit();
    if (silence() < interval_ && session_.credit_.smallest()) {
      start(interval_ - silence());
    } else {
      send();
    }
  } else if (silence() < limit_) {
    // The PING's answer may be queued behind other data; a peer that sends anything is alive.
    late_ = false;
    start(limit_ - silence());
  } else if (!std::exchange(late_, true)) {
    // This process may have stood still: timers come before what is to be read.
    start(Milliseconds(1));
  } else {
    session_.gone_silent(limit_);
  }
}

namespace {

/// Reads in a row before others get their turn.
constexpr int kReadsPerTurn = 16;
constexpr std::int32_t kUnlimitedWindow = 0x7fffffff;
/// Most bytes of a GOAWAY's text that are shown to people.
constexpr std::size_t kLongestFarewell = 1024;
/// How long a peer may take to close a session that it knows to be over.
constexpr Milliseconds kCloseTimeout{1000};
/// How long a peer may have to wait for credit.
constexpr Milliseconds kCreditInterval{5000};

// Estimated costs in bytes of what can't be measured: state of TLS, of nghttp2 and of our own.
constexpr std::uint64_t kSessionBytes = 48 * 1024;
constexpr std::uint64_t kStreamBytes = 6 * 1024;
constexpr std::uint64_t kFrameBytes = 256;
/// Heads up to this size are included in kStreamBytes.
constexpr std::size_t kUsualHead = 1024;

/// A server waits a little longer for the client's PING than the client waits to send it. Otherwise both
/// would send theirs at the same time, where those of one side are enough.
Milliseconds interval_of(Http2Session::Role role, Milliseconds interval) {
  return role == Http2Session::Role::server ? interval * 5 / 4 : interval;
}

}  // namespace

Http2Session::Http2Session(std::unique_ptr<Stream> lower, Role role, Party party, Http2Limits limits,
                           RequestHandler on_request)
    : loop_(lower->loop()),
      lower_(std::move(lower)),
      role_(role),
      party_(std::move(party)),
      limits_(limits),
      on_request_(std::move(on_request)),
      session_(make_session()),
      streams_(loop_, *this, session_.get()),
      heads_(limits_.head_bytes),
      output_(*lower_, *this),
      credit_(session_.get(), limits_.window, std::max(limits_.window, limits_.largest_window)),
      keepalive_(loop_, *this, interval_of(role, limits_.ping_interval), limits_.ping_timeout),
      draining_(loop_) {
  reservation_ = std::make_unique<BufferBudget::Reservation>(*party_.memory(), [this] {
    reservation_.reset();
    // Deferred: the eviction may come in the middle of anything.
    loop_.defer(*this);
  });
  submit_settings();
  // The first PING measures the network's own round trip, while nothing else is sent.
  if (limits_.largest_window > limits_.window) std::ignore = keepalive_.ask();
  loop_.defer(*this);
}

Http2Session::SessionPtr Http2Session::make_session() {
  nghttp2_session_callbacks* callbacks = Http2Callbacks::make();
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_stream_reset_rate_limit(option, limits_.resets_at_once, limits_.resets_per_second);
  nghttp2_session* session = nullptr;
  nghttp2_mem memory = memory_for_frames();
  if (is_server()) {
    nghttp2_session_server_new3(&session, callbacks, this, option, &memory);
  } else {
    nghttp2_session_client_new3(&session, callbacks, this, option, &memory);
  }
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  return SessionPtr(session);
}

void Http2Session::submit_settings() {
  const std::array<nghttp2_settings_entry, 4> settings{{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_.head_bytes},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
  }};
  nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_.get(), NGHTTP2_FLAG_NONE, 0, kUnlimitedWindow);
  settings_limit_.emplace(loop_, limits_.settings_timeout, [this] {
    // RFC 9113 section 6.5.3. run() treats this as a broken connection.
    lower_->abort(
        Error{"continue", "the session", "it does not acknowledge our SETTINGS", {}, Cause(ETIMEDOUT)});
  });
}

Http2Session::~Http2Session() {
  output_.stop();
  streams_.close_all(Error{"use", "the session", "it has ended"}, false);
}

Task<Result<void>> Http2Session::run() {
  // Only while there is something to read: most sessions are idle.
  std::unique_ptr<std::byte[]> buffer;
  Error why;
  bool lost = false;
  for (int reads = 0;; ++reads) {
    if (buffer == nullptr) buffer = std::make_unique_for_overwrite<std::byte[]>(kTlsRecord);
    const Io io = lower_->try_read(std::span(buffer.get(), kTlsRecord));
    if (io.status == IoStatus::would_block) {
      reads = 0;
      buffer.reset();
      co_await lower_->readable();
      continue;
    }
    if (io.status != IoStatus::ok) {
      why = io.status == IoStatus::end ? Error{"continue", "the session", "the other side closed it"}
                                       : lower_->error();
      // A peer that knows the session to be over may just close.
      const bool broken = io.status == IoStatus::failed || (limits_.end_is_break && !peer_left_);
      lost = broken && !ended_ && !close_deadline_;
      if (io.status == IoStatus::end) output_.half_close();
      break;
    }
    keepalive_.heard();
    std::span<const std::byte> rest(buffer.get(), io.bytes);
    ssize_t used = 0;
    // Once the session has ended, only the peer's close is awaited.
    while (!ended_ && used >= 0 && (heads_.paused() || !rest.empty())) {
      co_await party_.time().turn();
      if (ended_) break;
      used = feed(rest);
      if (used > 0) rest = rest.subspan(static_cast<std::size_t>(used));
    }
    if (used < 0) {
      why = Error{"continue", "the session", nghttp2_strerror(static_cast<int>(used))};
      break;
    }
    if (nghttp2_session_get_outbound_queue_size(session_.get()) > limits_.queued_frames) {
      why = Error{
          "continue", "the session", "too many frames wait for the peer to read them", {}, Cause(ENOBUFS)};
      break;
    }
    if (reads >= kReadsPerTurn) {
      reads = 0;
      co_await next_turn(loop_);
    }
  }
  end(why, lost);
  co_return tl::unexpected(ended_why_ ? *ended_why_ : why);
}

/// Feeds bytes to nghttp2 and dispatches the requests in them. Returns how many bytes were taken, or
/// nghttp2's error.
ssize_t Http2Session::feed(std::span<const std::byte> bytes) {
  const Work work(party_.time());
  heads_.resume();
  const ssize_t used = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  loop_.defer(*this);
  if (used < 0) return used;
  if (std::exchange(pinged_, false)) give_all_credit();
  dispatch_requests();
  return used;
}

void Http2Session::count() {
  if (!reservation_) return;
  const std::uint64_t queued = nghttp2_session_get_outbound_queue_size(session_.get());
  reservation_->update(kSessionBytes + streams_.size() * kStreamBytes + queued * kFrameBytes);
}

std::unique_ptr<Http2Stream> Http2Session::request(std::string_view method, std::string_view path,
                                                   std::string_view authority, const HeaderFields& fields,
                                                   bool body) {
  if (ended_) return nullptr;
  const auto list = header_list({header_field(":method", method), header_field(":scheme", "https"),
                                 header_field(":authority", authority), header_field(":path", path)},
                                fields);
  const nghttp2_data_provider provider = Http2Callbacks::body();
  const std::int32_t id = nghttp2_submit_request(session_.get(), nullptr, list.data(), list.size(),
                                                 body ? &provider : nullptr, nullptr);
  if (id < 0) return nullptr;
  auto stream = streams_.make(id);
  stream->outbound_ended_ = !body;
  loop_.defer(*this);
  return stream;
}

void Http2Session::abort(const Error& why) {
  if (ended_) return;
  ended_ = true;
  ended_why_ = why;
  // The record in flight is written completely, but its stream's owner may free the bytes: copy them.
  output_.release_all();
  streams_.close_all(why, false);
  leave();
  goaway_deadline_.emplace(loop_, kCloseTimeout, [this] { end(*ended_why_, false); });
}

void Http2Session::end(const Error& why, bool lost) {
  ended_ = true;
  keepalive_.end();
  lower_->abort(why);
  streams_.close_all(why, lost);
}

void Http2Session::leave() {
  nghttp2_session_terminate_session(session_.get(), NGHTTP2_NO_ERROR);
  loop_.defer(*this);
}

void Http2Session::drain() {
  if (ended_) return;
  draining_out_ = true;
  nghttp2_submit_shutdown_notice(session_.get());
  loop_.defer(*this);
}

void Http2Session::turn_away(std::string_view why) {
  ended_ = true;
  ended_why_ = Error{"begin a session with", "the peer", std::string(why)};
  // Refused before anything was processed (RFC 9113 section 7).
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, 0, NGHTTP2_REFUSED_STREAM,
                        reinterpret_cast<const std::uint8_t*>(why.data()), why.size());
  loop_.defer(*this);
}

void Http2Session::end_of_tick() {
  if (reservation_ == nullptr) {
    const Error much{"continue",
                     "the session",
                     "the memory for buffered data is used up (limits.buffered_bytes at an agent); read "
                     "faster, or raise that limit",
                     {},
                     Cause(ENOBUFS)};
    if (!ended_) abort(much);
    // The GOAWAY is sent only as far as that takes no waiting. A peer that reads nothing would otherwise make
    // us keep everything until it reads.
    if (output_.send_all(session_.get())) output_.half_close();
    end(ended_why_.value_or(much), false);
    return;
  }
  if (!output_.send_all(session_.get())) {
    lower_->abort(Error{"continue", "the session", "out of memory"});
    return;
  }
  count();
  end_if_over();
}

void Http2Session::end_if_over() {
  if (draining_out_ && streams_.size() == 0 && heads_.empty()) {
    draining_out_ = false;
    leave();
  }
  if (output_.pending() || close_deadline_ || nghttp2_session_want_read(session_.get()) != 0 ||
      nghttp2_session_want_write(session_.get()) != 0) {
    return;
  }
  // Closing first could cut off data that the peer has not read yet, such as the reason.
  output_.half_close();
  goaway_deadline_.reset();
  close_deadline_.emplace(loop_, kCloseTimeout, [this] {
    end(Error{"continue", "the session", "one side has ended it (GOAWAY)"}, false);
  });
}

// Called by nghttp2.

int Http2Session::send_data(Http2Stream& stream, const std::uint8_t* frame_header, std::size_t size) {
  return output_.send_data(session_.get(), stream, frame_header, size);
}

void Http2Session::request_begins(std::int32_t id) {
  heads_.begin(streams_.make(id));
}

int Http2Session::field_received(Http2Stream& stream, std::string_view name, std::string_view value) {
  return heads_.add_field(stream.head_, name, value);
}

void Http2Session::head_received(Http2Stream* stream) {
  const std::size_t size = heads_.end();
  if (stream == nullptr) return;
  if (heads_.receives(*stream)) {
    if (size > kUsualHead) stream->count_kept(size);
    stream->received_head();
    heads_.request_received();
    return;
  }
  constexpr int kFirstFinalStatus = 200;  // 1xx announces that more heads follow (RFC 9110 section 15.2).
  if (stream->head_.status >= kFirstFinalStatus) stream->received_head();
}

void Http2Session::stream_closed(Http2Stream& stream, std::uint32_t error_code) {
  output_.release(stream);
  streams_.remove(stream);
  const bool clean = error_code == NGHTTP2_NO_ERROR;
  const Error broken{"continue", "the stream",
                     clean
                         ? "it has ended"
                         : std::string("the other side broke it off: ") + nghttp2_http2_strerror(error_code)};
  stream.closed(ended_why_ ? *ended_why_ : broken, clean);
  if (heads_.receives(stream)) {
    heads_.drop();
  } else if (clean) {
    streams_.add_ended(stream);
  }
}

void Http2Session::data_received(Http2Stream& stream, std::span<const std::byte> bytes) {
  if (credit_.received(bytes.size())) std::ignore = keepalive_.ask();
  stream.received(bytes);
}

void Http2Session::ping_acknowledged() {
  credit_.ping_acknowledged();
  keepalive_.acknowledged();
  streams_.confirm_ends(keepalive_.acknowledged_count());
}

void Http2Session::goaway_received(std::uint32_t error_code, std::string_view text) {
  if (error_code == NGHTTP2_REFUSED_STREAM && !text.empty()) {
    // The peer closes the connection next.
    ended_why_ = Error{"begin a session with",
                       "the peer",
                       std::string(shortened(text, kLongestFarewell)),
                       {},
                       Cause(EACCES)};
    return;
  }
  peer_left_ = true;
  draining_.set();
}

void Http2Session::dispatch_requests() {
  for (auto& request : heads_.take_requests()) on_request_(std::move(request));
}

// Called by Http2Stream.

void Http2Session::write_waits(Http2Stream& stream) {
  nghttp2_session_resume_data(session_.get(), stream.id_);
  loop_.defer(*this);
}

void Http2Session::consumed(Http2Stream& stream, std::size_t bytes) {
  credit_.consumed(stream, bytes);
  loop_.defer(*this);
}

void Http2Session::submit_response(Http2Stream& stream, int status, const HeaderFields& fields, bool body) {
  const std::string code = std::to_string(status);
  const auto list = header_list({header_field(":status", code)}, fields);
  const nghttp2_data_provider provider = Http2Callbacks::body();
  nghttp2_submit_response(session_.get(), stream.id_, list.data(), list.size(), body ? &provider : nullptr);
  loop_.defer(*this);
}

void Http2Session::submit_trailer(Http2Stream& stream, std::string_view name, std::string_view value) {
  const nghttp2_nv trailer = header_field(name, value);
  nghttp2_submit_trailer(session_.get(), stream.id_, &trailer, 1);
}

std::uint64_t Http2Session::acknowledged(const Http2Stream& stream) const {
  return credit_.acknowledged(stream, stream.sent_);
}

void Http2Session::send_ping() {
  // PINGs that measure may be all that there are.
  if (loop_.now_ms() - credited_at_ms_ >= static_cast<std::uint64_t>(kCreditInterval.count()))
    give_all_credit();
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  credit_.ping_sent();
  loop_.defer(*this);
}

void Http2Session::give_all_credit() {
  credited_at_ms_ = loop_.now_ms();
  streams_.for_each([this](const Http2Stream& stream) { credit_.give_all_credit(stream); });
  loop_.defer(*this);
}

void Http2Session::gone_silent(Milliseconds limit) {
  // run() treats this as a broken connection.
  lower_->abort(Error{"continue",
                      "the session",
                      "nothing has been heard for " + std::to_string(limit.count()) + " ms",
                      {},
                      Cause(ETIMEDOUT)});
}

void Http2Session::stop_request(Http2Stream& stream) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id_, NGHTTP2_NO_ERROR);
  loop_.defer(*this);
}

void Http2Session::forget(Http2Stream& stream, std::uint32_t error_code) {
  output_.release(stream);
  nghttp2_session_set_stream_user_data(session_.get(), stream.id_, nullptr);
  streams_.remove(stream);
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id_, error_code);
  loop_.defer(*this);
}

}  // namespace farport::transport
