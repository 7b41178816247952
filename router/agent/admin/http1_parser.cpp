#include "router/agent/admin/http1_parser.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>

namespace farport::router {
namespace {

namespace http = boost::beast::http;

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// The path of a request target such as "/metrics?x=1", which may have a scheme and a host before it
/// (RFC 9112 section 3.2). Empty if there is none.
std::string path_of(std::string_view target) {
  if (target == "*") return "*";
  if (const std::size_t scheme = std::find_if_not(target.begin(), target.end(), is_letter) - target.begin();
      scheme > 0 && target.substr(scheme).starts_with("://")) {
    target.remove_prefix(scheme + 3);
    target.remove_prefix(std::min(target.find_first_of("/?#"), target.size()));
  }
  if (!target.starts_with('/')) return {};
  return std::string(target.substr(0, target.find_first_of("?#")));
}

/// The size of the head that begins the text: up to the first empty line, whose line end may lack its CR.
/// `from`: no empty line ends before. npos if there is none yet.
std::size_t head_size(std::string_view text, std::size_t from) {
  for (std::size_t end = text.find('\n', from); end != std::string_view::npos;
       end = text.find('\n', end + 1)) {
    const std::string_view next = text.substr(end + 1);
    if (next.starts_with('\n')) return end + 2;
    if (next.starts_with("\r\n")) return end + 3;
  }
  return std::string_view::npos;
}

/// Whether the request line is one, with a version of HTTP at its end. Beast calls whatever stands behind the
/// target a version.
bool names_version(std::string_view head) {
  const std::string_view line = head.substr(0, std::min(head.find("\r\n"), head.size()));
  const std::string_view last = line.substr(line.rfind(' ') + 1);
  return std::count(line.begin(), line.end(), ' ') == 2 && last.size() == 8 && last.starts_with("HTTP/") &&
         last[6] == '.';
}

}  // namespace

Http1Parser::State Http1Parser::feed(std::string_view& bytes) {
  if (status_ != 0) return State::wrong;
  std::string_view part = bytes.substr(0, kMaxHeadBytes - head_bytes_);
  if (head_.empty()) {
    // Empty lines before a request are ignored (RFC 9112 section 2.2).
    const std::size_t empty = std::min(part.find_first_not_of("\r\n"), part.size());
    part.remove_prefix(empty);
    bytes.remove_prefix(empty);
    head_bytes_ += empty;
    // Whoever means TLS is told so at once: an empty line never comes.
    if (!part.empty() && !is_letter(part.front())) return fail(400);
  }
  const std::size_t before = head_.size();
  head_ += part;
  const std::size_t size = head_size(head_, before - std::min<std::size_t>(before, 2));
  if (size == std::string::npos) {
    bytes.remove_prefix(part.size());
    head_bytes_ += part.size();
    return head_bytes_ < kMaxHeadBytes ? State::more : fail(431);
  }
  bytes.remove_prefix(size - before);
  head_.resize(size);
  head_bytes_ = 0;
  return parse(std::exchange(head_, {}));
}

Http1Parser::State Http1Parser::parse(const std::string& head) {
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kMaxHeadBytes);
  // Whoever announces a body has a head nevertheless, and is answered.
  parser.body_limit(std::numeric_limits<std::uint64_t>::max());
  boost::beast::error_code error;
  parser.put(boost::asio::buffer(head), error);
  if (!parser.is_header_done()) {
    return fail(error == http::error::bad_version && names_version(head) ? 505 : 400);
  }
  const auto& message = parser.get();
  // RFC 9112 section 3.2.
  const std::size_t hosts = message.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && message.version() > 10)) return fail(400);
  const bool has_body =
      parser.content_length().value_or(0) > 0 || message.count(http::field::transfer_encoding) > 0;
  request_.method = std::string(message.method_string());
  request_.path = path_of({message.target().data(), message.target().size()});
  request_.keep_alive = parser.keep_alive() && !parser.upgrade() && !has_body;
  return State::whole;
}

Http1Parser::State Http1Parser::fail(int status) {
  status_ = status;
  return State::wrong;
}

}  // namespace farport::router
