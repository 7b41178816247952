// Http2Session: one HTTP/2 connection (RFC 9113) over a Stream, on nghttp2: its life. Its
// streams, heads, credit, PINGs and the way out are its parts.
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

// What nghttp2 calls, translated into calls of Http2Events.

class Http2Stream;

/// What nghttp2 reports of a session, and has to be done for it. Called from inside nghttp2 only. What
/// returns an int or a ssize_t returns nghttp2's error codes.
class Http2Events {
 public:
  virtual ssize_t send(std::span<const std::byte> frames) = 0;
  virtual int send_data(Http2Stream& stream, const std::uint8_t* frame_header, std::size_t size) = 0;

  virtual void request_begins(std::int32_t id) = 0;
  virtual int field_received(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
  /// `stream`: nullptr once its user has dropped it.
  virtual void head_received(Http2Stream* stream) = 0;
  virtual void data_received(Http2Stream& stream, std::span<const std::byte> bytes) = 0;
  virtual void stream_closed(Http2Stream& stream, std::uint32_t error_code) = 0;

  virtual void settings_received() = 0;
  virtual void settings_acknowledged() = 0;
  virtual void ping_received() = 0;
  virtual void ping_acknowledged() = 0;
  virtual void goaway_received(std::uint32_t error_code, std::string_view text) = 0;

 protected:
  ~Http2Events() = default;
};

struct Http2Callbacks {
  /// The callbacks of every session, whose user data is an Http2Events. The caller frees them with
  /// nghttp2_session_callbacks_del().
  static nghttp2_session_callbacks* make();
  /// The body of an outgoing message: bytes come from the stream's write, where they lie.
  static nghttp2_data_provider body();
  /// The stream with this number; nullptr once its user has dropped it.
  static Http2Stream* find(nghttp2_session* session, std::int32_t id);

 private:
  static void frame_received(nghttp2_session* session, const nghttp2_frame& frame, Http2Events& events);
};

/// Http2Streams: the streams of one session: those that are open, and those that both sides have ended, for
/// as long as their users may ask whether the end has arrived. The streams belong to their users, and leave
/// these lists when they are destroyed.
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

// The PINGs of an HTTP/2 session (RFC 9113 section 6.7): they tell a session that has gone silent from one
// that has nothing to say.

class Http2Keepalive final : private Timer {
 public:
  /// Whose PINGs they are.
  class Connection {
   public:
    virtual void send_ping() = 0;
    /// Nothing has come for so long since a PING.
    virtual void gone_silent(Milliseconds limit) = 0;

   protected:
    ~Connection() = default;
  };

  /// Sends a PING every `interval`; a peer from which nothing has come for `limit` since then has gone
  /// silent. An interval of 0: never.
  Http2Keepalive(Loop& loop, Connection& connection, Milliseconds interval, Milliseconds limit);
  ~Http2Keepalive() = default;

  /// Something has come from the peer.
  void heard() { heard_ = true; }
  /// The peer has acknowledged the PING.
  void acknowledged();
  /// Sends one as soon as none is under way. Returns its number: when that many have been acknowledged, all
  /// that was sent before has arrived.
  std::uint64_t ask();
  [[nodiscard]] std::uint64_t acknowledged_count() const { return acknowledged_; }
  void end() { stop(); }

 private:
  void on_time() override;
  void send();

  Connection& connection_;
  Milliseconds interval_;
  Milliseconds limit_;
  std::uint64_t sent_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t asked_ = 0;  ///< The number of the last one that was asked for.
  bool heard_ = false;       ///< Since the timer was last started.
};

struct Http2Limits {
  std::uint32_t streams = 1000;          ///< Open at once, asked for by the peer.
  std::uint32_t window = 1024 * 1024;    ///< Bytes that a peer may send on one stream ahead of its reader.
  std::uint32_t largest_window = 0;      ///< What it may grow to on a long, fast network; 0: it doesn't.
  std::uint32_t head_bytes = 16 * 1024;  ///< All header fields of one message together: see too_large.
  /// Streams that a peer may reset, at once and for ever: more is an attack (CVE-2023-44487).
  std::uint64_t resets_at_once = 5000;
  std::uint64_t resets_per_second = 1000;
  Milliseconds ping_interval{5000};  ///< 0: no PINGs.
  Milliseconds ping_timeout{5000};   ///< Silence for this long after a PING: the session is broken.
  /// Frames that may wait to be sent: a peer that makes for more reads nothing of what it asks for.
  std::size_t queued_frames = 10'000;
  /// The lower stream's end says nothing of the peer's will, as that of a pipe does: it is a break like any
  /// other unless the peer has said that it leaves.
  bool end_is_break = false;
  Milliseconds settings_timeout{10'000};  ///< For the peer to acknowledge our SETTINGS.
};

class Http2Session final : private Http2Connection,
                           private Http2Events,
                           private Http2Keepalive::Connection,
                           private EndOfTick {
 public:
  enum class Role { client, server };
  /// Called for each request, from the loop. The stream is the handler's to keep.
  using RequestHandler = std::function<void(std::unique_ptr<Http2Stream>)>;

  /// Owns the lower stream. `party`: for whom it reads, and keeps what it keeps. `on_request` is for servers.
  Http2Session(std::unique_ptr<Stream> lower, Role role, Party party, Http2Limits limits,
               RequestHandler on_request = {});
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  /// Carries the session until it ends: cleanly, or because the peer broke it or the rules. Afterwards all
  /// its streams have failed; those of a session whose connection broke are lost (Http2Stream::lost()). Where
  /// the peer has turned us away, `cause` is EACCES.
  Task<Result<void>> run();

  /// Opens a stream with a request; nullptr when the session has ended or can take no more. With `body`, the
  /// stream is then written to and finished.
  std::unique_ptr<Http2Stream> request(std::string_view method, std::string_view path,
                                       std::string_view authority, const HeaderFields& fields, bool body);

  /// Ends the session: streams fail with `why` at once and are not lost, nothing more is taken from the peer,
  /// and it is told (GOAWAY). run() passes with `why` when it has closed, or soon.
  void abort(const Error& why);
  /// Ends the session in good order: the peer is told (GOAWAY), and run() passes when it knows, or soon.
  void leave();
  /// Asks the peer for no more requests (GOAWAY, RFC 9113 section 6.8) and leaves when the last stream has
  /// ended. For servers.
  void drain();
  /// Ends the session before it has begun: the peer is told `why` (GOAWAY, RFC 9113 section 6.8), and no
  /// request is taken. For servers, before run().
  void turn_away(std::string_view why);
  /// Set when the peer wants no more requests: dial another session for those.
  [[nodiscard]] Event& draining() { return draining_; }
  /// Whether the peer has said that it leaves in good order (GOAWAY).
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

  // For Http2Stream.
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
  std::uint64_t ask_whether_arrived() override { return keepalive_.ask(); }

  // For Http2Keepalive.
  void send_ping() override;
  void gone_silent(Milliseconds limit) override;

  // From nghttp2.
  ssize_t send(std::span<const std::byte> frames) override { return output_.collect(frames); }
  int send_data(Http2Stream& stream, const std::uint8_t* frame_header, std::size_t size) override;
  void request_begins(std::int32_t id) override;
  int field_received(Http2Stream& stream, std::string_view name, std::string_view value) override;
  void head_received(Http2Stream* stream) override;
  void data_received(Http2Stream& stream, std::span<const std::byte> bytes) override;
  void stream_closed(Http2Stream& stream, std::uint32_t error_code) override;
  void settings_received() override { lower_->hold_unsent(credit_.unsent()); }
  void settings_acknowledged() override { settings_limit_.reset(); }
  void ping_received() override { pinged_ = true; }
  void ping_acknowledged() override;
  void goaway_received(std::uint32_t error_code, std::string_view text) override;

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

  std::unique_ptr<BufferBudget::Holding> holding_;  ///< The session's own; null: it has to go.

  bool ended_ = false;
  bool peer_left_ = false;
  bool pinged_ = false;             ///< The peer has sent a PING in what is being read.
  std::optional<Error> ended_why_;  ///< By abort(), or by the peer's word.
  std::optional<Deadline> settings_limit_;
  bool draining_out_ = false;           ///< To be left with the last stream.
  std::optional<Deadline> last_words_;  ///< Since abort(): a peer need not read why.
  std::optional<Deadline> farewell_;    ///< How long the peer may take to close after us.
  Event draining_;
};

}  // namespace farport::transport
