// Http2Session: one HTTP/2 connection (RFC 9113) over a Stream, on nghttp2. The callbacks only translate.
#pragma once

#include <functional>
#include <memory>

#include <nghttp2/nghttp2.h>

#include "transport/buffer_budget.hpp"
#include "transport/http2_stream.hpp"

namespace farport::transport {

/// A frame with its header is exactly one TLS record: 16,384 bytes.
inline constexpr std::size_t kMaxPayload = 16384 - kHeadroom;

struct Http2Limits {
  std::uint32_t streams = 1000;          ///< Open at once, asked for by the peer.
  std::uint32_t window = 1024 * 1024;    ///< Bytes that a peer may send on one stream ahead of its reader.
  std::uint32_t head_bytes = 16 * 1024;  ///< All header fields of one message together: see too_large.
  /// Streams that a peer may reset, at once and for ever: more is an attack (CVE-2023-44487).
  std::uint64_t resets_at_once = 5000;
  std::uint64_t resets_per_second = 1000;
  BufferBudget* budget = nullptr;  ///< Bounds what all sessions keep; must outlive them.
};

class Http2Session final : private TurnEnd, private WriteOperation {
 public:
  enum class Role { client, server };
  /// Called for each request, from the loop. The stream is the handler's to keep.
  using RequestHandler = std::function<void(std::unique_ptr<Http2Stream>)>;

  /// Owns the lower stream. `on_request` is for servers.
  Http2Session(std::unique_ptr<Stream> lower, Role role, Http2Limits limits, RequestHandler on_request = {});
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  /// Carries the session until it ends: cleanly, or because the peer broke it or the rules. Afterwards all
  /// its streams have failed.
  Task<Result<void>> run();

  /// Opens a stream with a request; nullptr when the session has ended or can take no more. With `body`, the
  /// stream is then written to and finished.
  std::unique_ptr<Http2Stream> request(std::string_view method, std::string_view path,
                                       std::string_view authority, const HeaderFields& fields, bool body);

  /// Ends the session: streams fail with `why`.
  void abort(const Error& why);
  [[nodiscard]] Stream& lower() { return *lower_; }

 private:
  friend class Http2Stream;
  struct Callbacks;
  struct SessionFree {
    void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
  };

  // For Http2Stream.
  void write_waits(Http2Stream& stream);
  void write_cancelled(Http2Stream& stream);
  void consumed(Http2Stream& stream, std::size_t bytes);
  void submit_response(Http2Stream& stream, int status_code, const HeaderFields& fields, bool body);
  void forget(Http2Stream& stream, std::uint32_t error_code);

  // From nghttp2.
  [[nodiscard]] Http2Stream* find(std::int32_t id) const;
  ssize_t collect(const std::uint8_t* data, std::size_t size);
  int send_data(Http2Stream& stream, const std::uint8_t* frame_header, std::size_t size);
  int send_collected(const std::uint8_t* frame_header, const Chunk& payload, std::size_t size);
  int send_in_place(Http2Stream& stream, const std::uint8_t* frame_header, std::size_t size);
  void request_begins(std::int32_t id);
  int add_field(std::int32_t id, std::string_view name, std::string_view value);
  void head_received(std::int32_t id);
  void stream_closed(std::int32_t id, std::uint32_t error_code);

  void turn_end() override;
  void complete() override;
  bool write_collected();
  bool write_lower(Chunk bytes);
  void end_if_over();
  void dispatch_requests();
  void close_streams(const Error& why);

  Loop& loop_;
  std::unique_ptr<Stream> lower_;
  Role role_;
  Http2Limits limits_;
  RequestHandler on_request_;
  std::unique_ptr<nghttp2_session, SessionFree> session_;

  std::unique_ptr<Http2Stream> receiving_;              ///< Whose request head is being received.
  std::vector<std::unique_ptr<Http2Stream>> requests_;  ///< Received in this read, not yet handed out.
  std::size_t head_bytes_ = 0;                          ///< Received of the head under way.
  std::optional<BufferBudget::Account> account_;        ///< Where there is a budget.
  NodeList streams_;                                    ///< Those that still belong to the session.

  bool ended_ = false;
  std::vector<std::byte> collected_;  ///< Small frames, on their way into one record.
  std::vector<std::byte> kept_;       ///< What the pending write takes, where nobody else keeps it.
  bool lower_pending_ = false;
  Http2Stream* in_flight_ = nullptr;  ///< Whose bytes the pending write takes in place.
};

}  // namespace farport::transport
