#include "events/tags.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "base/text.hpp"

namespace farport::events {
namespace {

/// An instrument of an application may have any number of each. Further ones are not counted.
constexpr std::size_t kMaxSeries = 1024;
constexpr std::size_t kMaxNames = 64;
constexpr std::size_t kMaxTags = 64;

/// Beginnings of names in OpenTelemetry's semantic conventions, which the runtime's own meters follow.
constexpr std::array<std::string_view, 12> kConventions{"aspnetcore.", "db.",      "dns.",     "error.",
                                                        "gc.",         "http.",    "network.", "rpc.",
                                                        "server.",     "signalr.", "tls.",     "url."};

bool is_of_name(char c) {
  return is_letter_or_digit(c) || c == '_' || c == '.' || c == '-' || c == ':' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// Whether the value is certainly no path or query of a request.
bool is_harmless(std::string_view value) {
  return value.find_first_of("/?&%\"'<>\\") == std::string_view::npos;
}

template <typename Each>
void each_part(std::string_view text, Each each) {
  const bool has_empty_last = text.ends_with(',');
  while (!text.empty()) each(take_until(text, ','));
  if (has_empty_last) each(std::string_view());
}

bool has(const Tags& tags, std::string_view name) {
  return std::ranges::any_of(tags, [name](const auto& tag) { return tag.first == name; });
}

}  // namespace

std::size_t TagReader::end_of_name(std::string_view part) const {
  const std::size_t end = std::min(part.find(separator_), part.size());
  const bool is_name = end < part.size() && end > 0 && std::ranges::all_of(part.substr(0, end), is_of_name);
  return is_name ? end : 0;
}

void TagReader::count_names(std::string_view text) {
  if (series_.size() >= kMaxSeries || !series_.insert(std::hash<std::string_view>()(text)).second) return;
  std::set<std::string> names;
  each_part(text, [&](std::string_view part) {
    if (const std::size_t end = end_of_name(part); end > 0) names.emplace(part.substr(0, end));
  });
  for (const std::string& name : names) {
    if (seen_.size() < kMaxNames || seen_.contains(name)) ++seen_[name];
  }
}

bool TagReader::is_known(const std::string& name) const {
  if (believed_.contains(name)) return true;
  if (std::ranges::any_of(kConventions, [&](std::string_view each) { return name.starts_with(each); }))
    return true;
  // Of an instrument with one series all are, since most have no such values.
  const auto seen = seen_.find(name);
  return seen != seen_.end() && seen->second == series_.size();
}

Tags TagReader::read(std::string_view text) {
  count_names(text);
  Tags tags;
  each_part(text, [&](std::string_view part) {
    if (tags.empty()) {
      const std::size_t end = std::min(part.find(separator_), part.size());
      tags.emplace_back(part.substr(0, end), part.substr(std::min(end + 1, part.size())));
      return;
    }
    std::string& before = tags.back().second;
    const std::size_t end = end_of_name(part);
    const std::string name(part.substr(0, end));
    const bool is_new = end > 0 && tags.size() < kMaxTags && !has(tags, name);
    if (!is_new || (!is_harmless(before) && !is_known(name))) {
      before.append(",").append(part);
      return;
    }
    if (is_harmless(before) && believed_.size() < kMaxNames) believed_.insert(name);
    tags.emplace_back(name, part.substr(end + 1));
  });
  return tags;
}

}  // namespace farport::events
