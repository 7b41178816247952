#include "base/file_name.hpp"

#include <algorithm>

namespace farport {
namespace {

constexpr std::size_t kLongest = 64;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

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
  // Neither hidden nor an option of a command.
  if (!is_letter_or_digit(file.front())) file.front() = '_';
  return file;
}

}  // namespace farport
