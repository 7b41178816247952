// Http2Session: one HTTP/2 connection (RFC 9113) over a Stream, on nghttp2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <nghttp2/nghttp2.h>

#include "transport/http2/output.hpp"
#include "transport/http2/stream.hpp"
#include "transport/party.hpp"
#include "transport/timer.hpp"

namespace farport::transport {

class Http2Session;

struct Http2Callbacks {
  /// The callbacks of every session, whose user data is the Http2Session. The caller frees them with
  /// nghttp2_session_callbacks_del().
  static nghttp2_session_callbacks* make();
  /// The body of an outgoing message, which nghttp2 takes from where the stream's write holds it.
  static nghttp2_data_provider body();
  /// The stream with this number; nullptr once its user has dropped it.
  static Http2Stream* find(nghttp2_session* session, std::int32_t id);

 private:
  static void frame_received(nghttp2_session* session, const nghttp2_frame& frame, Http2Session& owner);
};

/// The streams of one session: the open ones, and those that both sides have ended but whose users may still
/// ask whether the end has arrived. The streams belong to their users, and leave these lists when they are
/// destroyed.
class Http2Streams {
 public:
  /// `owner` and its `session` must outlive the streams in here.
  Http2Streams(Loop& loop, Http2Connection& owner, nghttp2_session* session)
      : loop_(loop), owner_(owner), session_(session) {}

  /// Makes an open stream with this number.
  [[nodiscard]] std::unique_ptr<Http2Stream> make(std::int32_t id);
  /// The stream is no longer open.
  void remove(Http2Stream& stream);
  /// Keeps a removed stream that both sides have ended, so that it can ask for confirm_ends().
  void add_ended(Http2Stream& stream);
  /// Notifies the streams whose end has arrived, now that so many PINGs have been acknowledged.
  void confirm_ends(std::uint64_t acknowledged_pings);
  /// Fails all of them. `lost`: because the connection broke. Ends that are not confirmed are lost also if
  /// the cause of `why` is ENOBUFS.
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
  Http2Connection& owner_;
  nghttp2_session* session_;
  NodeList open_;
  std::size_t size_ = 0;
  NodeList ended_;
};

/// The PINGs of an HTTP/2 session (RFC 9113 section 6.7), which tell a dead connection from an idle one.
class Http2Keepalive final : private Timer {
 public:
  /// Sends a PING once nothing has been received for `interval`, or never if that is 0; while windows are
  /// large, also if something has, since only PINGs make them smaller. A peer that sends nothing for `limit`
  /// after a PING is reported as silent.
  Http2Keepalive(Loop& loop, Http2Session& session, Milliseconds interval, Milliseconds limit);
  ~Http2Keepalive() = default;

  /// Something was received from the peer.
  void heard() { heard_at_ms_ = loop_.now_ms(); }
  /// The peer has acknowledged the PING.
  void acknowledged();
  /// Sends a PING as soon as none is in flight. Returns its number: once that many have been acknowledged,
  /// everything sent before it has arrived.
  std::uint64_t ask();
  [[nodiscard]] std::uint64_t acknowledged_count() const { return acknowledged_; }
  void end() { stop(); }

 private:
  void on_time() override;
  void send();
  /// For how long nothing has been received.
  [[nodiscard]] Milliseconds silence() const {
    return Milliseconds(static_cast<Milliseconds::rep>(loop_.now_ms() - heard_at_ms_));
  }

  Http2Session& session_;
  Milliseconds interval_;
  Milliseconds limit_;
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t asked_ = 0;  ///< Number of the latest PING asked for.
  std::uint64_t heard_at_ms_;
  bool late_ = false;  ///< The answer to a PING is overdue; what has come meanwhile is read first.
};

struct Http2Limits {
  std::uint32_t streams = 1000;          ///< Open streams that the peer may have at once.
  std::uint32_t window = 1024 * 1024;    ///< Bytes that a peer may send on one stream ahead of its reader.
  std::uint32_t largest_window = 0;      ///< Limit for window growth on a long, fast network; 0: no growth.
  std::uint32_t head_bytes = 16 * 1024;  ///< All header fields of one message; see MessageHead::too_large.
  /// Resets that a peer may send in a burst and in the long run. More is an attack (CVE-2023-44487).
  std::uint64_t resets_at_once = 5000;
  std::uint64_t resets_per_second = 1000;
  Milliseconds ping_interval{5000};  ///< 0: no PINGs.
  Milliseconds ping_timeout{5000};   ///< The session is broken after this much silence following a PING.
  /// Frames that may be queued to be sent. A peer that causes more does not read what it asks for.
  std::size_t queued_frames = 10'000;
  /// The lower stream's end, such as a pipe's, does not show that the peer meant it. It counts as a broken
  /// connection unless the peer sent GOAWAY before.
  bool end_is_break = false;
  Milliseconds settings_timeout{10'000};  ///< Time for the peer to acknowledge our SETTINGS.
};

class Http2Session final : private Http2Connection, private TurnEndHook {
 public:
  enum class Role { client, server };
  /// Called from the loop for each request. The handler owns the stream.
  using RequestHandler = std::function<void(std::unique_ptr<Http2Stream>)>;

  /// Owns the lower stream. `party`: pays for the session's loop time and memory. `on_request` is for
  /// servers.
  Http2Session(std::unique_ptr<Stream> lower, Role role, Party party, Http2Limits limits,
               RequestHandler on_request = {});
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  /// Runs the session until it ends, cleanly or because the peer broke the connection or the protocol.
  /// Afterwards all its streams have failed; if the connection broke they are lost (Http2Stream::lost()).
  /// `cause` is EACCES if the peer turned us away.
  Task<Result<void>> run();

  /// Opens a stream with a request; nullptr if the session has ended or has no stream left. With `body`, the
  /// caller then writes to the stream and finishes it.
  std::unique_ptr<Http2Stream> request(std::string_view method, std::string_view path,
                                       std::string_view authority, const HeaderFields& fields, bool body);

  /// Ends the session at once: streams fail with `why` but are not lost, no more input is processed, and the
  /// peer gets GOAWAY. run() returns with `why` once the peer has closed, or after a short time.
  void abort(const Error& why);
  /// Ends the session in good order: sends GOAWAY. run() returns once the peer has it, or after a short time.
  void leave();
  /// Asks the peer for no more requests (GOAWAY, RFC 9113 section 6.8), and leaves when the last stream has
  /// ended. For servers.
  void drain();
  /// Rejects the session before run(): the peer gets `why` with GOAWAY (RFC 9113 section 6.8), and no request
  /// is processed. For servers.
  void turn_away(std::string_view why);
  /// Set when the peer wants no more requests; the owner should dial another session for new ones.
  [[nodiscard]] Event& draining() { return draining_; }
  /// Whether the peer has sent GOAWAY to leave in good order.
  [[nodiscard]] bool peer_left() const { return peer_left_; }
  /// Whether any stream is open.
  [[nodiscard]] bool busy() const { return streams_.size() > 0; }
  [[nodiscard]] Stream& lower() { return *lower_; }

 private:
  struct SessionFree {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };
  using SessionPtr = std::unique_ptr<nghttp2_session, SessionFree>;
  [[nodiscard]] SessionPtr make_session();

  // Called by Http2Stream.
  [[nodiscard]] bool is_server() const override { return role_ == Role::server; }
  [[nodiscard]] BufferBudget::Account& account() const override { return *party_.memory(); }
  void write_waits(Http2Stream& stream) override;
  void write_cancelled(Http2Stream& stream) override { output_.release(stream); }
  void consumed(Http2Stream& stream, std::size_t bytes) override;
  void submit_response(Http2Stream& stream, int status, const HeaderFields& fields, bool body) override;
  void submit_trailer(Http2Stream& stream, std::string_view name, std::string_view value) override;
  void stop_request(Http2Stream& stream) override;
  void forget(Http2Stream& stream, std::uint32_t error_code) override;
  [[nodiscard]] std::uint64_t acknowledged(const Http2Stream& stream) const override;
  std::uint64_t ping_for_delivery() override { return keepalive_.ask(); }

  friend class Http2Keepalive;
  void send_ping();
  /// Gives the peer credit for all that has been read. Usually it gets some once half of a window has been
  /// read. But a peer that waits for credit to forget what it has sent should not wait for long.
  void give_all_credit();
  /// Nothing has been received for `limit` since a PING.
  void gone_silent(Milliseconds limit);

  // Called from inside nghttp2 only. An int or ssize_t result is nghttp2's error code.
  friend struct Http2Callbacks;
  ssize_t send(std::span<const std::byte> frames) { return output_.collect(frames); }
  int send_data(Http2Stream& stream, const std::uint8_t* frame_header, std::size_t size);
  void request_begins(std::int32_t id);
  int field_received(Http2Stream& stream, std::string_view name, std::string_view value);
  /// `stream`: nullptr once its user has dropped it.
  void head_received(Http2Stream* stream);
  void data_received(Http2Stream& stream, std::span<const std::byte> bytes);
  void stream_closed(Http2Stream& stream, std::uint32_t error_code);
  void settings_received() { lower_->hold_unsent(credit_.unsent()); }
  void settings_acknowledged() { settings_limit_.reset(); }
  void ping_received() { pinged_ = true; }
  void ping_acknowledged();
  void goaway_received(std::uint32_t error_code, std::string_view text);

  void end_of_tick() override;
  void submit_settings();
  [[nodiscard]] ssize_t feed(std::span<const std::byte> bytes);
  void count();
  void end_if_over();
  void dispatch_requests();
  void end(const Error& why, bool lost);

  Loop& loop_;
  std::unique_ptr<Stream> lower_;
  Role role_;
  Party party_;
  Http2Limits limits_;
  RequestHandler on_request_;
  SessionPtr session_;
  Http2Streams streams_;
  Http2Heads heads_;
  Http2Output output_;
  Http2FlowControl credit_;
  Http2Keepalive keepalive_;

  std::unique_ptr<BufferBudget::Reservation> reservation_;  ///< Null once the session was evicted.

  bool ended_ = false;
  bool peer_left_ = false;
  bool pinged_ = false;  ///< The input being read has a PING.
  std::uint64_t credited_at_ms_ = 0;
  std::optional<Error> ended_why_;  ///< From abort() or from the peer.
  std::optional<Deadline> settings_limit_;
  bool draining_out_ = false;                ///< Leave with the last stream.
  std::optional<Deadline> goaway_deadline_;  ///< Set by abort(): the peer may never read why.
  std::optional<Deadline> close_deadline_;   ///< Time for the peer to close after us.
  Event draining_;
};

}  // namespace farport::transport
