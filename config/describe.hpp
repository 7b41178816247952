// The settings in words: for --help, the documentation and the completions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace farport::config {

/// How many values a flag takes.
enum class Takes { nothing, maybe_one, one, many };

/// One setting. What it doesn't have is empty.
struct Description {
  std::string key;       ///< In the file: "tls.cert", "remotes.NAME.select".
  std::string flag;      ///< Without its dashes.
  std::string variable;  ///< Of the environment: "FARPORT_TLS_CERT".
  std::string value;     ///< What the flag's value is called: "FILE".
  Takes takes = Takes::one;
  std::string type;    ///< "duration", "list of paths".
  std::string bounds;  ///< "1 to 1000000", "20 to 65536 bytes".
  std::vector<std::string> choices;
  std::string default_text;
  std::string help;                   ///< A sentence without its full stop.
  std::string details;                ///< Markdown.
  std::vector<std::string> commands;  ///< Which take the flag.

  /// Whether this command takes the flag.
  [[nodiscard]] bool is_flag_of(std::string_view command) const;
};

/// All settings, those of remotes, grants and roles included.
[[nodiscard]] const std::vector<Description>& descriptions();

}  // namespace farport::config
