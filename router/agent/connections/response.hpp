// The answer to a request of the API: its head, then its body, whatever carries them.
#pragma once

#include <string>

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

}  // namespace farport::router
