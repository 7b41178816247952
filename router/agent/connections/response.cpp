#include "router/agent/connections/response.hpp"

namespace farport::router {
namespace {

/// Not written where it is used: GCC 12 destroys the elements of an initializer list twice in a coroutine.
transport::HeaderFields whole_body_fields(const std::string& content_type, std::size_t size,
                                          const transport::HeaderFields& more) {
  transport::HeaderFields fields{{"content-type", content_type}, {"content-length", std::to_string(size)}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

}  // namespace

transport::Task<void> Response::send(int status, std::string content_type, std::string body) {
  return send(status, std::move(content_type), std::move(body), transport::HeaderFields());
}

transport::Task<void> Response::send(int status, std::string content_type, std::string body,
                                     transport::HeaderFields more) {
  count_kept(body.size());
  send_head(status, whole_body_fields(content_type, body.size(), more), true);
  // The response is over either way.
  std::ignore = co_await stream().write_last(std::as_bytes(std::span(body)));
}

}  // namespace farport::router
