#include "router/agent/api/bodies.hpp"

#include <span>

#include "router/wire/http_status.hpp"

namespace farport::router {

using transport::IoStatus;
using transport::Task;

namespace {

/// What is written in one go. An unread answer keeps that, and there may be thousands of those.
constexpr std::size_t kPiece = 4096;

/// Appends items with commas between them until there is enough to write. Returns whether there are more.
bool append_items(std::string& piece, bool& first, const AppendItem& append_item) {
  while (piece.size() < kPiece) {
    const std::size_t before = piece.size();
    if (!first) piece += ',';
    if (!append_item(piece)) {
      piece.resize(before);
      return false;
    }
    first = false;
  }
  return true;
}

}  // namespace

Task<void> send_array(Response& response, transport::Share& share, transport::HeaderFields fields,
                      AppendItem append_item) {
  fields.emplace_back("content-type", kJson);
  response.send_head(http_status::kOk, std::move(fields), true);
  std::string piece = "[";
  for (bool more = true, first = true; more;) {
    co_await share.turn();
    {
      const transport::Work work(share);
      more = append_items(piece, first, append_item);
    }
    if (!more) piece += ']';
    response.count_kept(piece.capacity());
    const auto bytes = std::as_bytes(std::span(piece));
    if (!more) {
      std::ignore = co_await response.stream().write_last(bytes);
      co_return;
    }
    const IoStatus written = co_await response.stream().write(bytes);
    if (written != IoStatus::ok) co_return;
    piece.clear();
  }
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
