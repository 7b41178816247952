#include "router/agent/api/caller_session.hpp"

#include <span>

#include "base/text.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {

using transport::IoStatus;
using transport::Task;

namespace {

/// Bytes written at once. An answer that nobody reads keeps that much, and there may be thousands of them.
constexpr std::size_t kPiece = 4096;

/// Appends items with commas between them until there is a piece to write. Returns whether there are more.
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

namespace {

constexpr std::string_view kRuntime = "/v1/runtimes/";
constexpr std::string_view kConnection = "/v1/connections/";
constexpr std::string_view kArtifact = "/v1/artifacts/";

/// Percent-decoding (RFC 3986 section 2.1). An invalid escape stays as it is.
std::string decoded(std::string_view text) {
  constexpr std::size_t kEscape = 3;
  std::string plain;
  while (!text.empty()) {
    const bool escapes = text.size() >= kEscape && text[0] == '%';
    const auto code = escapes ? number_in<std::uint8_t>(text.substr(1, 2), 16) : std::nullopt;
    plain += code ? static_cast<char>(*code) : text[0];
    text.remove_prefix(code ? kEscape : 1);
  }
  return plain;
}

}  // namespace

std::string Route::parameter(std::string_view name) const {
  const auto place = query.find(name);
  return place == query.end() ? std::string() : place->second;
}

Route parse_route(std::string_view method, std::string_view target) {
  Route route;
  route.method = method;
  std::string_view path = take_until(target, '?');
  while (!target.empty()) {
    std::string_view value = take_until(target, '&');
    const std::string_view name = take_until(value, '=');
    route.query.insert_or_assign(std::string(name), decoded(value));
  }
  if (path.starts_with(kConnection)) {
    route.id = path.substr(kConnection.size());
    route.path = std::string(kConnection) + "{token}";
    return route;
  }
  if (path.starts_with(kArtifact)) {
    route.id = path.substr(kArtifact.size());
    route.path = std::string(kArtifact) + "{id}";
    return route;
  }
  if (!path.starts_with(kRuntime)) {
    route.path = path;
    return route;
  }
  path.remove_prefix(kRuntime.size());
  route.id = take_until(path, '/');
  route.path = std::string(kRuntime) + "{id}/" + std::string(path);
  return route;
}

}  // namespace farport::router
