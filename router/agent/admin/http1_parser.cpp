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

/// The path of a request target such as "/metrics?x=1", which may have a scheme and a host before it
/// (RFC 9112 section 3.2). Empty if there is none.
std::string path_of(std::string_view target) {
  if (target == "*") return "*";
  if (const std::size_t scheme = target.find("://"); !target.starts_with('/') && scheme != target.npos) {
    target.remove_prefix(std::min(target.find('/', scheme + 3), target.size()));
  }
  if (!target.starts_with('/')) return {};
  return std::string(target.substr(0, target.find_first_of("?#")));
}

/// Whether anything that begins so may be a request. Beast says so only once a whole head has come, which a
/// client that means TLS never sends.
bool may_begin_request(char first) {
  return (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
}

}  // namespace

struct Http1Parser::Message : http::request_parser<http::empty_body> {
  Message() {
    header_limit(kMostHeadBytes);
    // Whoever announces a body has a head nevertheless, and is answered.
    body_limit(std::numeric_limits<std::uint64_t>::max());
  }
};

Http1Parser::Http1Parser() = default;
Http1Parser::~Http1Parser() = default;

Http1Parser::State Http1Parser::feed(std::string_view& bytes) {
  if (status_ != 0) return State::wrong;
  std::string_view part = bytes.substr(0, kMostHeadBytes - head_bytes_);
  bytes.remove_prefix(part.size());
  head_bytes_ += part.size();
  if (unparsed_.empty()) {
    // Empty lines before a request are ignored (RFC 9112 section 2.2).
    part.remove_prefix(std::min(part.find_first_not_of("\r\n"), part.size()));
    if (!part.empty() && !may_begin_request(part.front())) return fail(400);
  }
  unparsed_ += part;
  if (message_ == nullptr) message_ = std::make_unique<Message>();
  boost::beast::error_code error;
  const std::size_t parsed = unparsed_.empty() ? 0 : message_->put(boost::asio::buffer(unparsed_), error);
  if (message_->is_header_done()) {
    // What is left is of the next request. It came with the last part: the head's end did.
    const std::size_t left = unparsed_.size() - parsed;
    bytes = {bytes.data() - left, bytes.size() + left};
    return end_head();
  }
  unparsed_.erase(0, parsed);
  const bool goes_on = !error || error == http::error::need_more;
  if (error == http::error::bad_version) return fail(505);
  if (error == http::error::header_limit || (goes_on && head_bytes_ == kMostHeadBytes)) return fail(431);
  return goes_on ? State::more : fail(400);
}

Http1Parser::State Http1Parser::end_head() {
  const std::unique_ptr<Message> message = std::exchange(message_, nullptr);
  unparsed_.clear();
  head_bytes_ = 0;
  const auto& head = message->get();
  // RFC 9112 section 3.2.
  const std::size_t hosts = head.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && head.version() > 10)) return fail(400);
  const bool has_body =
      message->content_length().value_or(0) > 0 || head.count(http::field::transfer_encoding) > 0;
  request_.method = std::string(head.method_string());
  request_.path = path_of({head.target().data(), head.target().size()});
  request_.keep_alive = message->keep_alive() && !message->upgrade() && !has_body;
  return State::whole;
}

Http1Parser::State Http1Parser::fail(unsigned status) {
  status_ = status;
  return State::wrong;
}

}  // namespace farport::router
