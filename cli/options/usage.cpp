#include "cli/options/usage.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "config/values.hpp"

namespace farport::cli {
namespace {

using Words = std::vector<std::string>;

bool has(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool looks_like_a_tool(const std::string& word) {
  return word.starts_with("dotnet-") || word.find("/dotnet-") != std::string::npos || word == "dotnet";
}

/// The words from `from` on, each after a space.
std::string joined(Words::const_iterator from, Words::const_iterator to) {
  std::string text;
  for (; from != to; ++from) text += " " + *from;
  return text;
}

Misplaced without_separator(const Words& words) {
  const auto tool = std::find_if(words.begin() + 1, words.end(), looks_like_a_tool);
  std::string hint = "write farport run [AGENT ...] -- TOOL [ARGUMENT ...]";
  if (tool != words.end()) {
    hint = "write farport" + joined(words.begin(), tool) + " --" + joined(tool, words.end());
  }
  return {"farport run needs -- before the tool", hint};
}

}  // namespace

Words with_help_option(Words words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

std::optional<Misplaced> find_misplaced(const Words& words, const Words& commands) {
  if (words.empty() || has(words, "--help") || has(words, "-h") || has(words, "--version")) return {};
  if (words.front() == "run" && has(words, "--help-all")) return {};
  if (words.front() == "run" && !has(words, "--")) return without_separator(words);
  const auto command = std::find_first_of(words.begin(), words.end(), commands.begin(), commands.end());
  if (!words.front().starts_with("-") || command == words.end()) return {};
  return Misplaced{
      "options must follow the command",
      "write farport " + *command + joined(words.begin(), command) + joined(command + 1, words.end())};
}

std::vector<std::string> hints_for(const std::vector<std::string>& words,
                                   const std::vector<std::string>& known) {
  std::vector<std::string> hints;
  for (const std::string& word : words) {
    if (has(known, word)) continue;
    // What is neither an option nor in the command's place is a value.
    if (!word.starts_with("-") && &word != &words.front()) continue;
    const std::string meant = config::nearest(word.substr(0, word.find('=')), known);
    if (meant.empty() || word.starts_with("-") != meant.starts_with("-")) continue;
    hints.push_back(fmt::format("did you mean \"{}\" for \"{}\"?", meant, word));
  }
  return hints;
}

}  // namespace farport::cli
