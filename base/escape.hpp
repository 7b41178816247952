// Text from elsewhere, made safe to show: names of runtimes, command lines, paths, what peers say.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <spdlog/pattern_formatter.h>

namespace farport {

/// `text` as one line that no terminal obeys and no reader of lines takes for two. UTF-8 stays as it is, but
/// for what would act instead of being seen: control characters (C0, DEL, C1), line and paragraph separators,
/// and characters that change the direction of writing. Those become \n, \r, \t, \xNN (below U+0080) or
/// \u{NNNN}; bytes that are no UTF-8 become \xNN. Every sink for people calls it once: the text log, tables,
/// messages. JSON has its own way. It takes nothing back: a backslash stays one, so what is shown need not
/// tell "\n" from a newline.
[[nodiscard]] std::string escape(std::string_view text);

/// The same, appended to a string or a buffer of bytes.
template <typename Buffer>
void escape_into(Buffer& to, std::string_view text) {
  const std::string escaped = escape(text);
  to.append(escaped.data(), escaped.data() + escaped.size());
}

/// How many bytes the character at the start of `text` takes, where it is well-formed UTF-8; 0 where it is
/// not.
[[nodiscard]] std::size_t utf8_length(std::string_view text);
/// The first character of `text`, of which utf8_length() has given `length` (1 to 4).
[[nodiscard]] char32_t utf8_character(std::string_view text, std::size_t length);

/// Messages in lines of the log that no terminal obeys.
/// %* in a pattern: the message as one line that no terminal obeys. The audit may share standard error with
/// it, and what peers and runtimes put into a message must not look like a line of that.
class EscapedMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    escape_into(out, {message.payload.data(), message.payload.size()});
  }
  [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedMessage>();
  }
};

/// Names from elsewhere as names of files.
/// `name` as a file's name that every system takes, Windows included: letters, digits and . _ - + stay, all
/// else becomes _; at most 64 bytes; it begins with a letter, a digit or _ and does not end with a dot.
/// "dotnet" where nothing is left.
[[nodiscard]] std::string file_name_for(std::string_view name);

}  // namespace farport
