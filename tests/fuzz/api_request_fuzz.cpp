// Fuzzes what an agent takes from the head of a request: its route, its tokens, the encodings that it
// accepts. An input is a line each for method, target and accept-encoding.
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "router/agent/api/caller_session.hpp"
#include "router/wire/session_options.hpp"
#include "tests/fuzz/target.hpp"

using namespace farport;
using namespace farport::router;
using farport::fuzz::require;

namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return line;
}

/// Each byte as an escape (RFC 3986 section 2.1): a value may itself look like an escape.
std::string escaped(std::string_view text) {
  std::string written;
  for (const char c : text) {
    fmt::format_to(std::back_inserter(written), "%{:02x}", static_cast<unsigned char>(c));
  }
  return written;
}

/// A target that names the same as the route.
std::string target_of(const Route& route) {
  std::string target = route.path;
  for (const std::string_view known :
       {"/v1/runtimes/{id}", "/v1/connections/{token}", "/v1/artifacts/{id}"}) {
    const std::size_t at = known.find('{');
    if (target.starts_with(known)) target.replace(at, known.size() - at, route.id);
  }
  char before = '?';
  for (const auto& [name, value] : route.query) {
    target += before + name + '=' + escaped(value);
    before = '&';
  }
  return target;
}

bool same(const Route& a, const Route& b) {
  return a.method == b.method && a.path == b.path && a.id == b.id && a.query == b.query;
}

void check_route(std::string_view method, std::string_view target) {
  const Route route = parse_route(method, target);
  require(route.method == method, "a route has the request's method");
  std::size_t kept = route.id.size();
  for (const auto& [name, value] : route.query) {
    kept += name.size() + value.size();
    require(route.parameter(name) == value, "a parameter has its value");
    require(name.find_first_of("=&") == std::string::npos, "a parameter's name ends at the first =");
  }
  require(kept <= target.size(), "a route keeps no more than the target has");
  require(route.path.find('?') == std::string::npos && route.id.find('?') == std::string::npos,
          "a query is none of the path");
  require(!route.path.starts_with("/v1/runtimes/") || route.id.find('/') == std::string::npos,
          "a runtime's id is one segment");
  require(same(parse_route(method, target_of(route)), route), "a route can be written");
}

void check_encodings(std::string_view accepted) {
  farport::transport::MessageHead head;
  head.fields.emplace_back("accept-encoding", std::string(accepted));
  require(!wants_zstd(head, Compression::never), "an agent that never compresses does not");
  const bool wanted = wants_zstd(head, Compression::automatic);
  require(!wanted || accepted.size() >= 4, "zstd is wanted by name");
  head.fields.front().second += ", zstd;q=0";
  require(!wants_zstd(head, Compression::always) || wanted, "what is refused is not wanted");
  head.fields.front().second = "gzip, zstd";
  require(wants_zstd(head, Compression::always), "zstd is found in a list");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view method = take_line(text);
  const std::string_view target = take_line(text);
  check_route(method, target);
  check_encodings(take_line(text));
  if (is_token(target)) require(target.size() == 32, "a token has 128 bits");
  return 0;
}
