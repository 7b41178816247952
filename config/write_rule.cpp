#include <algorithm>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "config/declarations.hpp"
#include "config/file.hpp"

namespace farport::config {
namespace {

/// A string of TOML: as it is where that is possible.
std::string toml_string(std::string_view text) {
  // What would be shown as something else, such as control characters.
  const bool needs_escapes = escape(text) != text || text.find('\'') != std::string_view::npos;
  const bool has_special = text.find_first_of("\"\\") != std::string_view::npos;
  if (has_special && !needs_escapes) return fmt::format("'{}'", text);
  std::string made = "\"";
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(utf8_length(text), 1);
    const std::string_view each = text.substr(0, length);
    text.remove_prefix(length);
    if (each == "\"" || each == "\\") {
      made += fmt::format("\\{}", each);
    } else if (escape(each) == each) {
      made += each;
    } else {
      made += fmt::format("\\U{:08X}", static_cast<std::uint32_t>(utf8_character(each, length)));
    }
  }
  return made + "\"";
}

std::string list(const std::vector<std::string>& texts) {
  std::string made;
  for (const std::string& each : texts) made += (made.empty() ? "" : ", ") + toml_string(each);
  return "[" + made + "]";
}

/// A setting's value as the file has it; empty if it is the default.
struct Writer {
  using K = Kinds<RuleSettings>;

  RuleSettings& rule;
  RuleSettings defaults{};

  std::string operator()(const K::Text& kind) { return text(kind.in(rule), kind.in(defaults)); }
  std::string operator()(const K::OneOf& kind) { return text(kind.in(rule), kind.in(defaults)); }
  std::string operator()(const K::Texts& kind) { return texts(kind.in(rule)); }
  std::string operator()(const K::Words& kind) { return texts(kind.in(rule)); }
  std::string operator()(const K::Paths& kind) { return texts(kind.in(rule)); }
  std::string operator()(const K::Boolean& kind) { return kind.in(rule) ? "true" : ""; }
  std::string operator()(const K::Number& kind) {
    return kind.in(rule) ? fmt::format("{}", *kind.in(rule)) : "";
  }
  std::string operator()(const K::Count& kind) { return number(kind.in(rule), kind.in(defaults)); }
  std::string operator()(const K::Size& kind) { return number(kind.in(rule), kind.in(defaults)); }
  std::string operator()(const K::Duration& kind) {
    return kind.in(rule) == kind.in(defaults) ? "" : toml_string(to_string(kind.in(rule)));
  }
  /// Rules have no others.
  template <typename Kind>
  std::string operator()(const Kind&) {
    return "";
  }

 private:
  static std::string text(const std::string& value, const std::string& otherwise) {
    return value == otherwise ? "" : toml_string(value);
  }
  static std::string texts(const std::vector<std::string>& value) { return value.empty() ? "" : list(value); }
  static std::string number(std::uint64_t value, std::uint64_t otherwise) {
    return value == otherwise ? "" : std::to_string(value);
  }
};

}  // namespace

std::string to_toml(RuleSettings rule) {
  std::string made = "[[rules]]\n";
  for (const Setting<RuleSettings>& setting : settings<RuleSettings>()) {
    const std::string value = std::visit(Writer{rule}, setting.kind);
    if (!value.empty()) made += fmt::format("{} = {}\n", setting.key, value);
  }
  return made;
}

}  // namespace farport::config
