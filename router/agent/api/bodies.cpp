#include "router/agent/api/bodies.hpp"

#include "router/wire/http_status.hpp"

namespace farport::router {

using transport::Task;

Task<void> send_array(Response& response, transport::Share& share, transport::HeaderFields fields,
                      std::size_t parts, std::function<std::string(std::size_t)> part) {
  std::string body = "[";
  for (std::size_t i = 0; i < parts; ++i) {
    // There may be a thousand, and many who ask for them at once.
    co_await share.turn();
    const transport::Work work(share);
    const std::string items = part(i);
    if (body.size() > 1 && !items.empty()) body += ',';
    body += items;
    response.count_kept(body.size());
  }
  body += ']';
  co_await response.send(http_status::kOk, kJson, std::move(body), std::move(fields));
}

Task<void> send_text(Response& response, transport::Share& share, transport::HeaderFields fields,
                     std::string type, std::function<std::string()> make) {
  co_await share.turn();
  std::string body;
  {
    const transport::Work work(share);
    body = make();
  }
  co_await response.send(http_status::kOk, std::move(type), std::move(body), std::move(fields));
}

}  // namespace farport::router
