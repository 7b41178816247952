// Text from elsewhere, made safe to show: names of runtimes, command lines, paths, what peers say.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <spdlog/pattern_formatter.h>

namespace farport {

/// `text` as one line that is safe in a terminal and to line readers. Valid UTF-8 is kept, except for control
/// characters (C0, DEL, C1), line and paragraph separators, and characters that change the writing direction.
/// Those become \n, \r, \t, \xNN (below U+0080) or \u{NNNN}; invalid bytes become \xNN. Every output for
/// people calls it once: the text log, tables, messages; JSON has its own escaping. It can't be undone: a
/// backslash is kept, so "\n" in the result is ambiguous.
[[nodiscard]] std::string escape(std::string_view text);

/// The same, appended to a string or a buffer of bytes.
template <typename Buffer>
void escape_into(Buffer& to, std::string_view text) {
  const std::string escaped = escape(text);
  to.append(escaped.data(), escaped.data() + escaped.size());
}

/// The length in bytes of the first character of `text`; 0 if it is not well-formed UTF-8.
[[nodiscard]] std::size_t utf8_length(std::string_view text);
/// The first character of `text`; `length` is what utf8_length() returned (1 to 4).
[[nodiscard]] char32_t utf8_character(std::string_view text, std::size_t length);

/// Implements %* in a log pattern: the message as one escaped line. The audit may share standard error with
/// the log, and text from peers and runtimes must not look like a line of the audit.
class EscapedMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    escape_into(out, {message.payload.data(), message.payload.size()});
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedMessage>();
  }
};

/// `name` as a file name that every system accepts, Windows included. Letters, digits and . _ - + are kept,
/// all else becomes _. It has at most 64 bytes, begins with a letter, a digit or _, and does not end with a
/// dot. "dotnet" if nothing is left.
[[nodiscard]] std::string file_name_for(std::string_view name);

}  // namespace farport
