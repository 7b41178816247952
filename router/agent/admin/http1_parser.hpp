// Http1Parser: parses HTTP/1.1 requests (RFC 9112) with Boost.Beast.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace farport::router {

/// What the agent uses of a request. Bodies are not read.
struct Http1Request {
  std::string method;       ///< "GET".
  std::string path;         ///< Without the query; not decoded.
  bool keep_alive = false;  ///< Another request may follow.
};

/// Parses one request after the other. Keeps at most kMaxHeadBytes.
class Http1Parser {
 public:
  /// The most bytes of a request line and all header fields together.
  static constexpr std::size_t kMaxHeadBytes = 8192;

  enum class State {
    more,   ///< The request is not complete yet.
    whole,  ///< request() returns it. The next feed() begins the next one.
    wrong,  ///< status() says what to answer. Nothing more can be parsed.
  };

  Http1Parser() = default;
  Http1Parser(const Http1Parser&) = delete;
  Http1Parser& operator=(const Http1Parser&) = delete;

  /// Parses from the front of `bytes`, and removes what belongs to the present request.
  State feed(std::string_view& bytes);

  /// Whether any byte of the present request has come.
  [[nodiscard]] bool begun() const { return head_bytes_ > 0; }
  /// The last complete request. If it announces a body, keep_alive is false, since nobody reads the body.
  [[nodiscard]] const Http1Request& request() const { return request_; }
  /// The status for the answer after State::wrong: 400, 431 or 505.
  [[nodiscard]] int status() const { return status_; }

 private:
  /// Parses a whole head.
  State parse(const std::string& head);
  State fail(int status);

  std::string head_;            ///< Of the present request, until it is whole: Beast takes it at once.
  std::size_t head_bytes_ = 0;  ///< All of the present request, with empty lines before it.
  Http1Request request_;
  int status_ = 0;
};

}  // namespace farport::router
