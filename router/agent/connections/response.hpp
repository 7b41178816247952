// Answers to callers: over HTTP/2, on raw connections, and refusals on both.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/unique_fd.hpp"
#include "router/agent/gate/admission.hpp"
#include "router/wire/http_status.hpp"
#include "transport/http2/session.hpp"
#include "transport/http2/stream.hpp"

namespace farport::router {

/// A content type.
inline constexpr const char* kJson = "application/json";

/// The way of an answer that is kept, and for which there is no room, straight to one of the agent's stores.
class WayToStore {
 public:
  WayToStore() = default;
  WayToStore(const WayToStore&) = delete;
  WayToStore& operator=(const WayToStore&) = delete;
  virtual ~WayToStore() = default;

  /// The name of the store.
  [[nodiscard]] virtual const std::string& store() const = 0;
  /// Bytes that it takes in a second, about.
  [[nodiscard]] virtual std::uint64_t rate() const = 0;
  /// Whether there is room here for so many bytes.
  virtual transport::Task<bool> has_room_here(std::uint64_t bytes) = 0;
  /// Has another process hold the reading end of a pipe, in case that this one is killed
  /// (CommandProcess::hold()). Errors: it can't.
  virtual transport::Task<Result<std::shared_ptr<void>>> hold(UniqueFd reading) = 0;
  /// From now on everything that is written goes to the store, which is expected to take so long. Errors: the
  /// system's.
  virtual transport::Task<Result<void>> take(std::chrono::seconds expected) = 0;
};

/// What carries the answer to a request of the API. Handlers get an Answer, which alone writes to it.
class Response {
 public:
  Response() = default;
  Response(const Response&) = delete;
  Response& operator=(const Response&) = delete;
  virtual ~Response() = default;

  /// The request's head. Only valid until the answer has begun.
  [[nodiscard]] virtual const transport::MessageHead& request() const = 0;
  /// The stream to which the body is written, and from which the request's body is read.
  [[nodiscard]] virtual transport::Stream& stream() = 0;
  /// Sends the head. If `body` is false, the answer ends here.
  virtual void send_head(int status, transport::HeaderFields fields, bool body) = 0;

  /// Takes a refusal that is not to be sent. Returns false if it is.
  virtual bool take_refusal(Refusal& /*refusal*/) { return false; }

  /// The way straight to a store, or null if there is none.
  virtual WayToStore* way_to_store() { return nullptr; }

  /// See Answer.
  virtual void lacks(std::string /*what*/) {}

  /// Sets how many bytes are kept for this answer until it has ended, for the caller's account.
  virtual void count_kept(std::size_t /*bytes*/) {}

  /// How far its reader is.
  struct Progress {
    bool waits = false;       ///< Something is to be sent, and the reader has no room for it.
    std::uint64_t taken = 0;  ///< Bytes so far.
  };
  /// Nothing if nobody reads it.
  [[nodiscard]] virtual Progress progress() const { return {}; }
};

/// An answer that ends with its session.
class PlainResponse final : public Response {
 public:
  explicit PlainResponse(transport::Http2Stream& stream) : stream_(stream) {}
  [[nodiscard]] const transport::MessageHead& request() const override { return stream_.head(); }
  [[nodiscard]] transport::Stream& stream() override { return stream_; }
  void send_head(int status, transport::HeaderFields fields, bool body) override {
    stream_.respond(status, fields, body);
  }
  void count_kept(std::size_t bytes) override { stream_.count_kept(bytes); }
  [[nodiscard]] Progress progress() const override { return {stream_.write_waits(), stream_.sent_bytes()}; }

 private:
  transport::Http2Stream& stream_;
};

/// Answers a request with {"error": …}, and with retry-after (RFC 9110 section 10.2.3) where that helps.
transport::Task<void> answer_refused(Response& response, Refusal refusal);

/// Serves a session that is over a limit. Answers each request with the refusal, for as long as a client
/// takes to ask once, then closes the session.
transport::Task<void> refuse_session(std::unique_ptr<transport::Stream> connection, transport::Party party,
                                     Refusal refusal);

/// Tells a caller that may do nothing at all why, in a GOAWAY. Takes no request, and closes the connection.
transport::Task<void> turn_away(std::unique_ptr<transport::Stream> connection, transport::Party party,
                                std::string why);

/// Raw mode (docs/developers/wire.md): a TLS or TCP connection that is one diagnostic connection.
class RawEndpoint final : public ToolEndpoint {
 public:
  explicit RawEndpoint(transport::Stream& stream) : stream_(stream) {}
  [[nodiscard]] transport::Stream& stream() override { return stream_; }
  void accept(bool) override {}
  void enable_error_text() override { has_text_ = true; }
  transport::Task<void> refuse(Refusal refusal) override;

 private:
  transport::Stream& stream_;
  bool has_text_ = false;
};

/// Waits for the peer to close first, for some seconds: the side that closes first may cut off what the other
/// has not read yet.
transport::Task<void> linger(transport::Stream& stream);

}  // namespace farport::router
