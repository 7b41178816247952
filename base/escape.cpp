#include "base/escape.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/text.hpp"

namespace farport {
namespace {

constexpr std::string_view kNames = "\a\b\t\n\v\f\r";
constexpr std::string_view kLetters = "abtnvfr";

bool is_plain_ascii(char byte) {
  return byte >= ' ' && byte <= '~';
}

/// Whether a non-ASCII character affects the text around it or ends the line.
bool acts(char32_t character) {
  const auto between = [&](char32_t first, char32_t last) { return character >= first && character <= last; };
  return between(0x80, 0x9F) || character == 0x61C || between(0x200E, 0x200F) || between(0x2028, 0x202E) ||
         between(0x2066, 0x2069);
}

void append_control(std::string& to, char byte) {
  const std::size_t name = kNames.find(byte);
  if (name == std::string_view::npos) {
    to += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  } else {
    to += '\\';
    to += kLetters[name];
  }
}

/// Appends the first character of `text`, and returns how many bytes it takes.
std::size_t append_first(std::string& to, std::string_view text) {
  const std::size_t length = utf8_length(text);
  if (length <= 1) {
    append_control(to, text.front());
    return 1;
  }
  const char32_t character = utf8_character(text, length);
  if (acts(character)) {
    to += fmt::format("\\u{{{:04x}}}", static_cast<std::uint32_t>(character));
  } else {
    to += text.substr(0, length);
  }
  return length;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  const char32_t character = utf8_character(text, length);
  const bool overlong = (length == 3 && character < 0x800) || (length == 4 && character < 0x10000);
  const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
  return overlong || surrogate || character > 0x10FFFF ? 0 : length;
}

char32_t utf8_character(std::string_view text, std::size_t length) {
  const auto first = static_cast<unsigned char>(text.front());
  if (length == 1) return first;
  char32_t character = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    character = (character << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  return character;
}

std::string escape(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const auto* const special = std::find_if_not(text.begin(), text.end(), is_plain_ascii);
    const auto plain = static_cast<std::size_t>(special - text.begin());
    escaped += text.substr(0, plain);
    text.remove_prefix(plain);
    if (!text.empty()) text.remove_prefix(append_first(escaped, text));
  }
  return escaped;
}

namespace {

constexpr std::size_t kLongest = 64;

bool may_stay(char c) {
  return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-' || c == '+';
}

}  // namespace

std::string file_name_for(std::string_view name) {
  std::string file(name.substr(0, kLongest));
  std::replace_if(
      file.begin(), file.end(), [](char c) { return !may_stay(c); }, '_');
  while (file.ends_with('.')) file.pop_back();
  if (file.empty()) return "dotnet";
  // The name must neither be hidden nor look like an option.
  if (!is_letter_or_digit(file.front())) file.front() = '_';
  return file;
}

}  // namespace farport
