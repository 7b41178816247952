#include "router/agent/admin/http1_parser.hpp"

#include <algorithm>

#include <strings.h>

namespace farport::router {
namespace {

/// The path of a request target such as "/metrics?x=1", which may have a scheme and a host before it. Empty
/// if there is none.
std::string path_of(const std::string& target, bool is_connect) {
  http_parser_url url;
  http_parser_url_init(&url);
  const bool wrong = http_parser_parse_url(target.data(), target.size(), is_connect ? 1 : 0, &url) != 0;
  if (wrong || (url.field_set & (1U << UF_PATH)) == 0) return {};
  return target.substr(url.field_data[UF_PATH].off, url.field_data[UF_PATH].len);
}

}  // namespace

Http1Parser::Http1Parser() {
  http_parser_init(&parser_, HTTP_REQUEST);
  parser_.data = this;
}

const http_parser_settings& Http1Parser::callbacks() {
  static const http_parser_settings all = [] {
    http_parser_settings settings;
    http_parser_settings_init(&settings);
    settings.on_message_begin = [](http_parser* parser) {
      self(parser).begin();
      return 0;
    };
    settings.on_url = [](http_parser* parser, const char* at, std::size_t size) {
      self(parser).target_.append(at, size);
      return 0;
    };
    settings.on_header_field = [](http_parser* parser, const char* at, std::size_t size) {
      self(parser).take_field_name({at, size});
      return 0;
    };
    settings.on_header_value = [](http_parser* parser, const char*, std::size_t) {
      self(parser).end_field_name();
      return 0;
    };
    settings.on_headers_complete = [](http_parser* parser) {
      self(parser).end_head();
      // Tells http_parser not to wait for a body.
      return 1;
    };
    settings.on_message_complete = [](http_parser* parser) {
      self(parser).end();
      http_parser_pause(parser, 1);
      return 0;
    };
    return settings;
  }();
  return all;
}

Http1Parser::State Http1Parser::feed(std::string_view& bytes) {
  if (status_ != 0) return State::wrong;
  const std::string_view part = bytes.substr(0, kMostHeadBytes - head_bytes_);
  const std::size_t taken = http_parser_execute(&parser_, &callbacks(), part.data(), part.size());
  bytes.remove_prefix(std::min(taken, part.size()));
  head_bytes_ += taken;
  if (whole_) {
    whole_ = false;
    head_bytes_ = 0;
    http_parser_pause(&parser_, 0);
    if (parser_.http_major != 1) return fail(HTTP_STATUS_HTTP_VERSION_NOT_SUPPORTED);
    // RFC 9112 section 3.2.
    if (hosts_ > 1 || (hosts_ == 0 && parser_.http_minor > 0)) return fail(HTTP_STATUS_BAD_REQUEST);
    return State::whole;
  }
  if (HTTP_PARSER_ERRNO(&parser_) != HPE_OK) return fail(HTTP_STATUS_BAD_REQUEST);
  if (head_bytes_ == kMostHeadBytes) return fail(HTTP_STATUS_REQUEST_HEADER_FIELDS_TOO_LARGE);
  return State::more;
}

void Http1Parser::begin() {
  target_.clear();
  field_name_.clear();
  in_field_name_ = false;
  hosts_ = 0;
  has_body_ = false;
}

void Http1Parser::take_field_name(std::string_view part) {
  if (!in_field_name_) field_name_.clear();
  in_field_name_ = true;
  field_name_ += part;
}

void Http1Parser::end_field_name() {
  if (in_field_name_ && ::strcasecmp(field_name_.c_str(), "host") == 0) ++hosts_;
  in_field_name_ = false;
}

void Http1Parser::end_head() {
  const bool announces_length = (parser_.flags & F_CONTENTLENGTH) != 0 && parser_.content_length > 0;
  has_body_ = announces_length || parser_.uses_transfer_encoding != 0;
}

void Http1Parser::end() {
  whole_ = true;
  const auto method = static_cast<http_method>(parser_.method);
  request_.method = http_method_str(method);
  request_.path = path_of(target_, method == HTTP_CONNECT);
  request_.keep_alive = http_should_keep_alive(&parser_) != 0 && !has_body_ && parser_.upgrade == 0;
}

Http1Parser::State Http1Parser::fail(unsigned status) {
  status_ = status;
  return State::wrong;
}

}  // namespace farport::router
