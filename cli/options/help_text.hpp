// How help is printed: one command's, and that of all of them.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/error.hpp"

namespace farport::cli {

/// Whether `command` is a permission's name (auth::all_permissions()). Errors say what may have been meant.
[[nodiscard]] Result<void> check_command_name(const std::string& command);

/// CLI11's group of the options that most commands have.
inline constexpr const char* kCommonOptions = "Common options";

/// As CLI11's own, but for a flag that may have a value, "--allow-all[=ROLE]", and for common options, which
/// only --help-all lists.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// Prints a help to standard output, as wide as the terminal.
void print_help(std::string_view text);

/// Prints the help of all commands to standard output. `format`: "text"; or "json" for commands, options and
/// settings, from which the manual pages, the tables of the documentation and the completions are made.
void print_help_all(const CLI::App& app, const std::string& format);

}  // namespace farport::cli
