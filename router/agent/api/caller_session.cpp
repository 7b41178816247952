#include "router/agent/api/caller_session.hpp"

#include "base/text.hpp"

namespace farport::router {

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
