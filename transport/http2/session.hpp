// Http2Session: one HTTP/2 connection (RFC 9113) over a Stream, on nghttp2: its life. Its
// streams, heads, credit, PINGs and the way out are its parts.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <nghttp2/nghttp2.h>

#include "transport/buffer_budget.hpp"
#include "transport/http2/callbacks.hpp"
#include "transport/http2/flow_control.hpp"
#include "transport/http2/heads.hpp"
#include "transport/http2/keepalive.hpp"
#include "transport/http2/output.hpp"
#include "transport/http2/streams.hpp"
#include "transport/party.hpp"

namespace farport::transport {

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
