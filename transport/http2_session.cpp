#include "transport/http2_session.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/http2_callbacks.hpp"
#include "transport/tls_stream.hpp"

namespace farport::transport {
namespace {

/// Reads in a row before others get their turn.
constexpr int kReadsPerTurn = 16;
/// A head that is so many times too large ends the session.
constexpr std::size_t kEndlessHead = 16;
constexpr std::int32_t kUnlimitedWindow = 0x7fffffff;
/// Requests and answers of our own have no more.
constexpr std::size_t kUsualFields = 4;
/// Requests that are handed out before others get their turn.
constexpr std::size_t kRequestsPerFeed = 16;
/// The text of a GOAWAY is for people.
constexpr std::size_t kLongestFarewell = 1024;

// What is counted for what can't be measured, in bytes: TLS's, nghttp2's and our own state.
constexpr std::uint64_t kSessionBytes = 48 * 1024;
constexpr std::uint64_t kStreamBytes = 6 * 1024;
constexpr std::uint64_t kFrameBytes = 256;
/// Heads up to this size are in kStreamBytes.
constexpr std::size_t kUsualHead = 1024;

nghttp2_nv field(std::string_view name, std::string_view value, std::uint8_t flags = NGHTTP2_NV_FLAG_NONE) {
  return {reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
          reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(), flags};
}

std::vector<nghttp2_nv> field_list(std::initializer_list<nghttp2_nv> first, const HeaderFields& fields) {
  std::vector<nghttp2_nv> list;
  list.reserve(first.size() + fields.size());
  list.assign(first);
  for (const auto& [name, value] : fields) {
    // Our own hold what no other message will: they would only push others out of the peer's table.
    const bool own = name.starts_with("farport-");
    list.push_back(field(name, value, own ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE));
  }
  return list;
}

}  // namespace

Http2Session::Http2Session(std::unique_ptr<Stream> lower, Role role, Http2Limits limits,
                           RequestHandler on_request)
    : loop_(lower->loop()),
      lower_(std::move(lower)),
      role_(role),
      limits_(std::move(limits)),
      on_request_(std::move(on_request)),
      draining_(loop_),
      keepalive_(loop_, *this, limits_.ping_interval, limits_.ping_timeout),
      window_(limits_.window, std::max(limits_.window, limits_.largest_window)) {
  if (limits_.account != nullptr) {
    holding_ = std::make_unique<BufferBudget::Holding>(*limits_.account, [this] {
      holding_.reset();
      // Not here: this may be in the middle of anything.
      loop_.at_turn_end(*this);
    });
  }
  nghttp2_session_callbacks* callbacks = Callbacks::make();
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_option_set_stream_reset_rate_limit(option, limits_.resets_at_once, limits_.resets_per_second);
  nghttp2_session* session = nullptr;
  if (role == Role::server) {
    nghttp2_session_server_new2(&session, callbacks, this, option);
  } else {
    nghttp2_session_client_new2(&session, callbacks, this, option);
  }
  nghttp2_option_del(option);
  nghttp2_session_callbacks_del(callbacks);
  session_.reset(session);

  const std::array<nghttp2_settings_entry, 4> settings{{
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.window},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_.head_bytes},
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
  }};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kUnlimitedWindow);
  // While nothing else is under way: how long the network takes by itself.
  if (limits_.largest_window > limits_.window) std::ignore = keepalive_.ask();
  settings_limit_.emplace(loop_, limits_.settings_timeout, [this] {
    // RFC 9113 section 6.5.3. run() meets this as the end of a connection that broke.
    lower_->abort(Error{"go on with", "the session", "it does not acknowledge our SETTINGS", {}, ETIMEDOUT});
  });
  loop_.at_turn_end(*this);
}

Http2Session::~Http2Session() {
  if (lower_pending_) lower_->cancel_write();
  displaced_.put_back();
  close_streams(Error{"use", "the session", "it has ended", {}, 0}, false);
}

Task<Result<void>> Http2Session::run() {
  std::vector<std::byte> buffer(kTlsRecord);
  Error why;
  bool lost = false;
  for (int reads = 0;; ++reads) {
    const Io io = lower_->try_read(buffer);
    if (io.status == IoStatus::would_block) {
      reads = 0;
      co_await lower_->readable();
      continue;
    }
    if (io.status != IoStatus::ok) {
      why = io.status == IoStatus::end ? Error{"go on with", "the session", "the other side closed it", {}, 0}
                                       : lower_->error();
      // A peer that we have said farewell to may just go.
      lost = io.status == IoStatus::failed && !ended_ && !farewell_;
      if (io.status == IoStatus::end) say_farewell();
      break;
    }
    keepalive_.heard();
    std::span<const std::byte> rest(buffer.data(), io.bytes);
    ssize_t used = 0;
    // Once it has ended, all that is waited for is that the peer closes.
    while (!ended_ && used >= 0 && (paused_ || !rest.empty())) {
      if (limits_.share != nullptr) co_await limits_.share->turn();
      if (ended_) break;
      used = feed(rest);
      if (used > 0) rest = rest.subspan(static_cast<std::size_t>(used));
    }
    if (used < 0) {
      why = Error{"go on with", "the session", nghttp2_strerror(static_cast<int>(used)), {}, 0};
      break;
    }
    if (nghttp2_session_get_outbound_queue_size(session_.get()) > limits_.queued_frames) {
      why = Error{"go on with", "the session", "it does not read what it is answered", {}, ENOBUFS};
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

/// Hands bytes to nghttp2, and out what they ask for. Returns how many were taken, or nghttp2's error.
ssize_t Http2Session::feed(std::span<const std::byte> bytes) {
  std::optional<Work> work;
  if (limits_.share != nullptr) work.emplace(*limits_.share);
  paused_ = false;
  const ssize_t used = nghttp2_session_mem_recv(
      session_.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  loop_.at_turn_end(*this);
  if (used < 0) return used;
  if (std::exchange(pinged_, false)) give_all_credit();
  dispatch_requests();
  return used;
}

void Http2Session::add(Http2Stream& stream) {
  streams_.push(stream);
  ++stream_count_;
}

void Http2Session::remove(Http2Stream& stream) {
  stream.unlink();
  --stream_count_;
}

void Http2Session::count() {
  if (!holding_) return;
  const std::uint64_t queued = nghttp2_session_get_outbound_queue_size(session_.get());
  holding_->update(kSessionBytes + stream_count_ * kStreamBytes + queued * kFrameBytes);
}

std::unique_ptr<Http2Stream> Http2Session::request(std::string_view method, std::string_view path,
                                                   std::string_view authority, const HeaderFields& fields,
                                                   bool body) {
  if (ended_) return nullptr;
  const auto list = field_list({field(":method", method), field(":scheme", "https"),
                                field(":authority", authority), field(":path", path)},
                               fields);
  const nghttp2_data_provider provider = Callbacks::body();
  const std::int32_t id = nghttp2_submit_request(session_.get(), nullptr, list.data(), list.size(),
                                                 body ? &provider : nullptr, nullptr);
  if (id < 0) return nullptr;
  auto stream = std::make_unique<Http2Stream>(loop_, *this, id);
  stream->outbound_ended_ = !body;
  nghttp2_session_set_stream_user_data(session_.get(), id, stream.get());
  add(*stream);
  loop_.at_turn_end(*this);
  return stream;
}

void Http2Session::abort(const Error& why) {
  if (ended_) return;
  ended_ = true;
  ended_why_ = why;
  // The record on its way is sent to its end; its stream's owner may not keep the bytes for so long.
  if (in_flight_ != nullptr) write_cancelled(*in_flight_);
  close_streams(why, false);
  leave();
}

void Http2Session::end(const Error& why, bool lost) {
  ended_ = true;
  keepalive_.end();
  lower_->abort(why);
  close_streams(why, lost);
}

void Http2Session::leave() {
  nghttp2_session_terminate_session(session_.get(), NGHTTP2_NO_ERROR);
  loop_.at_turn_end(*this);
}

void Http2Session::drain() {
  if (ended_) return;
  draining_out_ = true;
  nghttp2_submit_shutdown_notice(session_.get());
  loop_.at_turn_end(*this);
}

void Http2Session::turn_away(std::string_view why) {
  ended_ = true;
  ended_why_ = Error{"begin a session with", "the peer", std::string(why), {}, 0};
  // Refused before anything was done (RFC 9113 section 7).
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE, 0, NGHTTP2_REFUSED_STREAM,
                        reinterpret_cast<const std::uint8_t*>(why.data()), why.size());
  loop_.at_turn_end(*this);
}

void Http2Session::close_streams(const Error& why, bool lost) {
  stream_count_ = 0;
  while (ListNode* node = streams_.pop()) {
    auto* stream = static_cast<Http2Stream*>(node);
    nghttp2_session_set_stream_user_data(session_.get(), stream->id_, nullptr);
    stream->lost_ = lost;
    stream->closed(why, false);
  }
  while (ListNode* node = ended_streams_.pop()) {
    auto* stream = static_cast<Http2Stream*>(node);
    stream->ended_in_ = nullptr;
    if (stream->confirmed_by_ != 0) stream->end_known(lost);
  }
  in_flight_ = nullptr;
}

// From nghttp2.

Http2Stream* Http2Session::find(std::int32_t id) const {
  return static_cast<Http2Stream*>(nghttp2_session_get_stream_user_data(session_.get(), id));
}

void Http2Session::request_begins(std::int32_t id) {
  receiving_ = std::make_unique<Http2Stream>(loop_, *this, id);
  nghttp2_session_set_stream_user_data(session_.get(), id, receiving_.get());
  add(*receiving_);
  head_bytes_ = 0;
}

int Http2Session::add_field(std::int32_t id, std::string_view name, std::string_view value) {
  Http2Stream* stream = find(id);
  if (stream == nullptr) return 0;
  head_bytes_ += name.size() + value.size();
  MessageHead& head = stream->head_;
  if (head_bytes_ > limits_.head_bytes) {
    head.too_large = true;
    head.fields.clear();
    // Somebody who goes on and on wants no answer.
    return head_bytes_ > kEndlessHead * limits_.head_bytes ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
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

void Http2Session::head_received(std::int32_t id) {
  const std::size_t size = std::exchange(head_bytes_, 0);
  if (receiving_ != nullptr && receiving_->id_ == id) {
    if (size > kUsualHead) receiving_->count_kept(size);
    receiving_->received_head();
    requests_.push_back(std::move(receiving_));
    return;
  }
  Http2Stream* stream = find(id);
  constexpr int kFirstFinalStatus = 200;  // 1xx announces that more heads follow (RFC 9110 section 15.2).
  if (stream != nullptr && stream->head_.status >= kFirstFinalStatus) stream->received_head();
}

void Http2Session::stream_closed(std::int32_t id, std::uint32_t error_code) {
  Http2Stream* stream = find(id);
  if (stream == nullptr) return;
  write_cancelled(*stream);
  remove(*stream);
  const bool clean = error_code == NGHTTP2_NO_ERROR;
  const Error broken{"go on with",
                     "the stream",
                     clean
                         ? "it has ended"
                         : std::string("the other side broke it off: ") + nghttp2_http2_strerror(error_code),
                     {},
                     0};
  stream->closed(ended_why_ ? *ended_why_ : broken, clean);
  if (receiving_.get() == stream) {
    receiving_.reset();
  } else if (clean) {
    stream->ended_in_ = this;
    ended_streams_.push(*stream);
  }
}

void Http2Session::give_all_credit() {
  // Credit comes when half of a window has been read. A peer that keeps what it has no credit for would keep
  // the rest for ever: it is given at its next PING.
  streams_.for_each([this](ListNode& node) { give_credit(static_cast<const Http2Stream&>(node), 1); });
}

/// For what has been read, if it is this much.
void Http2Session::give_credit(const Http2Stream& stream, std::int32_t at_least) {
  const std::int32_t held = nghttp2_session_get_stream_effective_recv_data_length(session_.get(), stream.id_);
  const std::int32_t read = held - static_cast<std::int32_t>(stream.unread());
  if (read >= at_least) {
    nghttp2_submit_window_update(session_.get(), NGHTTP2_FLAG_NONE, stream.id_, read);
  }
}

void Http2Session::received(Http2Stream& stream, std::span<const std::byte> bytes) {
  if (window_.received(bytes.size(), Http2Window::Clock::now())) std::ignore = keepalive_.ask();
  stream.received(bytes);
}

void Http2Session::ping_acknowledged() {
  const auto window = window_.ping_acknowledged(Http2Window::Clock::now());
  keepalive_.acknowledged();
  if (window) {
    const nghttp2_settings_entry setting{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, *window};
    nghttp2_submit_settings(session_.get(), NGHTTP2_FLAG_NONE, &setting, 1);
    loop_.at_turn_end(*this);
  }
  ended_streams_.for_each([this](ListNode& node) {
    auto& stream = static_cast<Http2Stream&>(node);
    const bool confirmed =
        stream.confirmed_by_ != 0 && stream.confirmed_by_ <= keepalive_.acknowledged_count();
    if (!confirmed) return;
    stream.unlink();
    stream.ended_in_ = nullptr;
    stream.end_known(false);
  });
}

void Http2Session::credit_received(std::int32_t id) {
  const Http2Stream* stream = id == 0 ? nullptr : find(id);
  if (stream != nullptr && stream->acknowledged_wake_ != nullptr) stream->acknowledged_wake_->wake();
}

void Http2Session::settings_received() {
  // A peer's window tells how much its network holds (Http2Window): this is some hundredths of that, and of
  // the time that a round trip takes.
  constexpr std::uint32_t kPart = 128;
  constexpr std::uint32_t kMostUnsent = 512 * 1024;
  lower_->hold_unsent(std::min(peer_window() / kPart, kMostUnsent));
}

std::uint32_t Http2Session::peer_window() const {
  return nghttp2_session_get_remote_settings(session_.get(), NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE);
}

void Http2Session::goaway_received(std::uint32_t error_code, std::string_view text) {
  if (error_code == NGHTTP2_REFUSED_STREAM && !text.empty()) {
    // It closes the connection now.
    ended_why_ =
        Error{"begin a session with", "the peer", std::string(text.substr(0, kLongestFarewell)), {}, 0};
    return;
  }
  draining_.set();
}

void Http2Session::dispatch_requests() {
  std::vector<std::unique_ptr<Http2Stream>> requests;
  requests.swap(requests_);
  for (auto& request : requests) on_request_(std::move(request));
}

// For Http2Stream.

void Http2Session::write_waits(Http2Stream& stream) {
  nghttp2_session_resume_data(session_.get(), stream.id_);
  loop_.at_turn_end(*this);
}

void Http2Session::write_cancelled(Http2Stream& stream) {
  if (in_flight_ != &stream) return;
  // The record is on its way: what the lower stream has not taken must survive its owner.
  kept_.assign(chunk.data, chunk.data + chunk.size);
  chunk.data = kept_.data();
  displaced_.put_back();
  in_flight_ = nullptr;
}

void Http2Session::consumed(Http2Stream& stream, std::size_t bytes) {
  nghttp2_session_consume_stream(session_.get(), stream.id_, bytes);
  // For half of a window nghttp2 has given it.
  give_credit(stream, static_cast<std::int32_t>(window_.credit_unit()));
  loop_.at_turn_end(*this);
}

void Http2Session::submit_response(Http2Stream& stream, int status_code, const HeaderFields& fields,
                                   bool body) {
  const std::string code = std::to_string(status_code);
  const auto list = field_list({field(":status", code)}, fields);
  const nghttp2_data_provider provider = Callbacks::body();
  nghttp2_submit_response(session_.get(), stream.id_, list.data(), list.size(), body ? &provider : nullptr);
  loop_.at_turn_end(*this);
}

void Http2Session::submit_trailer(Http2Stream& stream, std::string_view name, std::string_view value) {
  const nghttp2_nv trailer = field(name, value);
  nghttp2_submit_trailer(session_.get(), stream.id_, &trailer, 1);
}

std::uint64_t Http2Session::acknowledged(const Http2Stream& stream) const {
  const std::int32_t window = nghttp2_session_get_stream_remote_window_size(session_.get(), stream.id_);
  const std::uint32_t initial = peer_window();
  // Without any left, there may be less than none: the peer's window shrinks, too.
  if (window <= 0 || static_cast<std::uint32_t>(window) > initial) return 0;
  const std::uint64_t without_credit = initial - static_cast<std::uint32_t>(window);
  return stream.sent_ - std::min(stream.sent_, without_credit);
}

void Http2Session::send_ping() {
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  window_.ping_sent(Http2Window::Clock::now());
  loop_.at_turn_end(*this);
}

void Http2Session::gone_silent(Milliseconds limit) {
  // run() meets this as the end of a connection that broke.
  lower_->abort(Error{"go on with",
                      "the session",
                      "nothing has been heard for " + std::to_string(limit.count()) + " ms",
                      {},
                      ETIMEDOUT});
}

void Http2Session::stop_request(Http2Stream& stream) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id_, NGHTTP2_NO_ERROR);
  loop_.at_turn_end(*this);
}

void Http2Session::forget(Http2Stream& stream, std::uint32_t error_code) {
  write_cancelled(stream);
  nghttp2_session_set_stream_user_data(session_.get(), stream.id_, nullptr);
  remove(stream);
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id_, error_code);
  loop_.at_turn_end(*this);
}

}  // namespace farport::transport
