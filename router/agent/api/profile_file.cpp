#include "router/agent/api/profile_file.hpp"

#include <array>

namespace farport::router {
namespace {

struct FormWord {
  std::string_view word;
  profile::Form form;
  const char* content_type;
};
constexpr std::array kWords{
    FormWord{"html", profile::Form::html, "text/html; charset=utf-8"},
    FormWord{"svg", profile::Form::svg, "image/svg+xml"},
    FormWord{"speedscope", profile::Form::speedscope, "application/json"},
    FormWord{"pprof", profile::Form::pprof, "application/octet-stream"},
    FormWord{"perf", profile::Form::perf_script, "text/plain; charset=utf-8"},
    FormWord{"folded", profile::Form::folded, "text/plain; charset=utf-8"},
};

}  // namespace

Result<std::optional<ProfileFile>> profile_file(const std::string& word) {
  if (word.empty()) return std::nullopt;
  std::string words;
  for (const FormWord& each : kWords) {
    if (each.word == word) return ProfileFile{each.form, each.content_type};
    words += (words.empty() ? "" : ", ") + std::string(each.word);
  }
  return fail("take the parameter", "format", "there is none of this name", "there are " + words);
}

}  // namespace farport::router
