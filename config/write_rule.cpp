#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "config/declarations.hpp"
#include "config/file.hpp"

namespace farport::config {
namespace {

/// A string of TOML: as it is where that is possible.
std::string toml_string(std::string_view text) {
  const auto is_control = [](char each) { return static_cast<unsigned char>(each) < ' ' || each == '\x7F'; };
  const bool needs_escapes =
      std::ranges::any_of(text, is_control) || text.find('\'') != std::string_view::npos;
  const bool has_special = text.find_first_of("\"\\") != std::string_view::npos;
  if (has_special && !needs_escapes) return fmt::format("'{}'", text);
  std::string made = "\"";
  for (const char each : text) {
    if (is_control(each)) {
      made += fmt::format("\\u{:04X}", static_cast<unsigned char>(each));
    } else {
      if (each == '"' || each == '\\') made += '\\';
      made += each;
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
