#include "auth/allow.hpp"

#include <algorithm>
#include <string_view>

namespace farport::auth {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

/// Equal but for the case of ASCII letters, whatever the locale.
bool same_but_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

struct Uri {
  std::string_view scheme;
  std::string_view host;
  std::vector<std::string_view> segments;  ///< Of the path, without the slashes.
};

/// Splits "scheme://host/a/b"; nothing for what is not of this form.
std::optional<Uri> split(std::string_view text) {
  const std::size_t colon = text.find("://");
  if (colon == 0 || colon == std::string_view::npos) return std::nullopt;
  if (text.find_first_of("?#") != std::string_view::npos) return std::nullopt;
  Uri uri;
  uri.scheme = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 3);
  std::size_t slash = rest.find('/');
  uri.host = rest.substr(0, slash);
  if (uri.host.empty()) return std::nullopt;
  while (slash != std::string_view::npos) {
    rest.remove_prefix(slash + 1);
    slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    if (segment.empty() || segment == "." || segment == "..") return std::nullopt;
    uri.segments.push_back(segment);
  }
  return uri;
}

Result<void> check_uri_pattern(const std::string& pattern) {
  const auto bad = [&](std::string_view why) {
    return fail("use allow-uri", pattern, why, "a pattern looks like spiffe://acme.example/ns/*/sa/oncall");
  };
  const auto uri = split(pattern);
  if (!uri) return bad("it is not scheme://host/path without empty segments, \"..\", query and fragment");
  if (uri->scheme.find('*') != std::string_view::npos || uri->host.find('*') != std::string_view::npos) {
    return bad("wildcards stand for whole path segments, not for the scheme or the host");
  }
  for (std::size_t i = 0; i < uri->segments.size(); ++i) {
    const std::string_view segment = uri->segments[i];
    if (segment.find('*') == std::string_view::npos || segment == "*") continue;
    if (segment != "**") return bad("a wildcard stands for a whole path segment, not for a part of one");
    if (i + 1 != uri->segments.size()) return bad("\"**\" may only be the last segment");
  }
  return {};
}

}  // namespace

bool uri_matches(std::string_view pattern, std::string_view uri) {
  const auto want = split(pattern);
  const auto have = split(uri);
  if (!want || !have) return false;
  if (!same_but_case(want->scheme, have->scheme) || !same_but_case(want->host, have->host)) return false;
  for (std::size_t i = 0; i < want->segments.size(); ++i) {
    if (want->segments[i] == "**") return true;
    if (i == have->segments.size()) return false;
    if (want->segments[i] != "*" && want->segments[i] != have->segments[i]) return false;
  }
  return want->segments.size() == have->segments.size();
}

Result<AllowList> AllowList::make(AllowRules rules) {
  for (const auto& name : rules.common_names) {
    if (name.empty())
      return fail("use allow-cn", "", "the name is empty", "give the common name of a certificate");
  }
  for (const auto& name : rules.dns) {
    if (name.empty())
      return fail("use allow-dns", "", "the name is empty", "give the DNS name of a certificate");
    if (name.find('*') != std::string::npos) {
      return fail("use allow-dns", name, "DNS rules have no wildcards",
                  "name each one, or use allow-uri patterns");
    }
  }
  for (const auto& pattern : rules.uris) {
    if (auto checked = check_uri_pattern(pattern); !checked) return tl::unexpected(checked.error());
  }
  return AllowList(std::move(rules));
}

std::optional<std::string> AllowList::match(const Identity& identity) const {
  for (const auto& name : rules_.common_names) {
    if (name == identity.common_name) return "allow-cn=" + name;
  }
  for (const auto& name : rules_.dns) {
    for (const auto& dns : identity.dns) {
      if (same_but_case(name, dns)) return "allow-dns=" + name;
    }
  }
  for (const auto& pattern : rules_.uris) {
    for (const auto& uri : identity.uris) {
      if (uri_matches(pattern, uri)) return "allow-uri=" + pattern;
    }
  }
  if (rules_.all) return "allow-all";
  return std::nullopt;
}

}  // namespace farport::auth
