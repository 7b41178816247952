// The answer to a request of the API: its head, then its body, whatever carries them.
#pragma once

#include <memory>
#include <string>

#include "router/agent/gate/admission.hpp"
#include "router/wire/http_status.hpp"
#include "transport/http2/session.hpp"
#include "transport/http2/stream.hpp"

namespace farport::router {

class Response {
 public:
  Response() = default;
  Response(const Response&) = delete;
  Response& operator=(const Response&) = delete;
  virtual ~Response() = default;

  /// Until the answer has begun.
  [[nodiscard]] virtual const transport::MessageHead& request() const = 0;
  /// What the body is written to, and the request's body is read from.
  [[nodiscard]] virtual transport::Stream& stream() = 0;
  /// Sends the head. Without `body` the answer ends here.
  virtual void send_head(int status, transport::HeaderFields fields, bool body) = 0;

  /// Counts so many bytes that are kept until this has been answered, in place of those before.
  virtual void count_kept(std::size_t /*bytes*/) {}

  /// Sends a whole answer.
  transport::Task<void> send(int status, std::string content_type, std::string body);
  /// The same, with more fields in its head.
  transport::Task<void> send(int status, std::string content_type, std::string body,
                             transport::HeaderFields more);
};

/// One that ends with its session.
class PlainResponse final : public Response {
 public:
  explicit PlainResponse(transport::Http2Stream& stream) : stream_(stream) {}
  [[nodiscard]] const transport::MessageHead& request() const override { return stream_.head(); }
  [[nodiscard]] transport::Stream& stream() override { return stream_; }
  void send_head(int status, transport::HeaderFields fields, bool body) override {
    stream_.respond(status, fields, body);
  }
  void count_kept(std::size_t bytes) override { stream_.count_kept(bytes); }

 private:
  transport::Http2Stream& stream_;
};

// Telling callers over HTTP that they are refused.

/// Answers a request with {"error": …}, and with retry-after (RFC 9110 section 10.2.3) where that helps.
transport::Task<void> answer_refused(Response& response, Refusal refusal);

/// For a session that there is no room for: answers whatever it asks with the refusal, for as long as a
/// client takes to ask once, then closes it.
transport::Task<void> refuse_session(std::unique_ptr<transport::Stream> connection, transport::Party party,
                                     Refusal refusal);

/// For a caller that may do nothing at all: says why in a GOAWAY, takes no request, and closes.
transport::Task<void> turn_away(std::unique_ptr<transport::Stream> connection, transport::Party party,
                                std::string why);

// Raw mode (docs/wire.md): a connection to the agent that is one diagnostic connection by itself.

/// A diagnostic connection that is a TLS or TCP connection by itself.
class RawEndpoint final : public ToolEndpoint {
 public:
  explicit RawEndpoint(transport::Stream& stream) : stream_(stream) {}
  [[nodiscard]] transport::Stream& stream() override { return stream_; }
  void accept(bool) override {}
  void allow_text() override { has_text_ = true; }
  transport::Task<void> refuse(Refusal refusal) override;

 private:
  transport::Stream& stream_;
  bool has_text_ = false;
};

/// Leaves closing to the peer: the side that closes first may cut off what the other hasn't read yet.
transport::Task<void> linger(transport::Stream& stream);

}  // namespace farport::router
