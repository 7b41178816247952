// Command lines that are nearly right: what people write in a wrong place, and where it belongs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace farport::cli {

/// `farport help COMMAND` as `farport COMMAND --help`.
[[nodiscard]] std::vector<std::string> with_help_option(std::vector<std::string> words);

struct Misplaced {
  std::string what;
  std::string hint;  ///< The command line as it should be.
};
/// Options before the command, and a tool of `run` without the -- before it. `commands`: the commands' names.
[[nodiscard]] std::optional<Misplaced> find_misplaced(const std::vector<std::string>& words,
                                                      const std::vector<std::string>& commands);

/// What could be meant by words that are none of those that are known: "did you mean …".
[[nodiscard]] std::vector<std::string> hints_for(const std::vector<std::string>& words,
                                                 const std::vector<std::string>& known);

}  // namespace farport::cli
