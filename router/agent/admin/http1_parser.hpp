// Http1Parser: HTTP/1.1 requests from bytes (RFC 9112), by http_parser.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <http_parser.h>

namespace farport::router {

/// What counts of a request. A body does not.
struct Http1Request {
  std::string method;       ///< "GET".
  std::string path;         ///< Without a query, as it was sent.
  bool keep_alive = false;  ///< Another request may follow.
};

/// Reads one request after the other. What it keeps is bounded by kMostHeadBytes.
class Http1Parser {
 public:
  /// A request line and all fields together.
  static constexpr std::size_t kMostHeadBytes = 8192;

  enum class State {
    more,   ///< The request goes on in bytes that have not come.
    whole,  ///< request() is there. The next feed() begins the next one.
    wrong,  ///< status() says what to answer. Nothing can be read after it.
  };

  Http1Parser();
  Http1Parser(const Http1Parser&) = delete;
  Http1Parser& operator=(const Http1Parser&) = delete;

  /// Takes what belongs to the present request from the front of `bytes`.
  State feed(std::string_view& bytes);

  /// Whether something of the present request has come.
  [[nodiscard]] bool begun() const { return head_bytes_ > 0; }
  /// The last whole one. Where it announces a body, it does not keep the connection alive, since nobody reads
  /// that.
  [[nodiscard]] const Http1Request& request() const { return request_; }
  /// Of a wrong one: 400, 431 or 505.
  [[nodiscard]] unsigned status() const { return status_; }

 private:
  static const http_parser_settings& callbacks();
  static Http1Parser& self(http_parser* parser) { return *static_cast<Http1Parser*>(parser->data); }

  void begin();
  void take_field_name(std::string_view part);
  void end_field_name();
  void end_head();
  void end();
  State fail(unsigned status);

  http_parser parser_{};
  std::size_t head_bytes_ = 0;
  std::string target_;
  std::string field_name_;
  bool in_field_name_ = false;
  std::size_t hosts_ = 0;
  bool has_body_ = false;
  bool whole_ = false;
  Http1Request request_;
  unsigned status_ = 0;
};

}  // namespace farport::router
