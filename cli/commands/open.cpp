// farport open: starts the user's debugger for a dump, with what it needs of the runtime that wrote the dump.
#include "cli/commands/open.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/escape.hpp"
#include "base/unique_fd.hpp"
#include "cli/options/commands.hpp"
#include "cli/terminal/table.hpp"
#include "router/mirror/module_receiver.hpp"

namespace farport::cli {

std::vector<std::string> debugger_commands(const std::string& modules) {
  // In this order: what is downloaded by default would be waited for a minute without a network, and without
  // the directory gcroot asks for modules there all the same.
  return {"setsymbolserver -disable", "setsymbolserver -directory " + modules, "setclrpath " + modules};
}

namespace {

constexpr const char* kDebugger = "dotnet-dump";

struct OpenSettings {
  std::string dump;
  std::string modules;                ///< An archive; empty: they are beside the dump.
  std::vector<std::string> commands;  ///< For the debugger.
};

/// Takes the archive apart beside the dump.
Result<void> unpack(const std::string& archive, const std::string& directory) {
  const UniqueFd file(::open(archive.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno("open", archive, errno);
  return router::unpack_modules(file.get(), directory, OutputFile::Existing::refuse);
}

/// Becomes the debugger, looked for in PATH and then where `dotnet tool install --global` puts it. Returns if
/// it can't be started.
Error become_debugger(std::vector<std::string> arguments) {
  std::vector<char*> words;
  for (std::string& each : arguments) words.push_back(each.data());
  words.push_back(nullptr);
  ::execvp(kDebugger, words.data());
  const char* const home = std::getenv("HOME");
  if (errno == ENOENT && home != nullptr)
    ::execv(fmt::format("{}/.dotnet/tools/{}", home, kDebugger).c_str(), words.data());
  const int error = errno;
  return fail_errno("start", kDebugger, error,
                    error == ENOENT ? "install it with: dotnet tool install --global dotnet-dump" : "")
      .value();
}

int open(const OpenSettings& settings) {
  std::error_code error;
  const std::string dump = std::filesystem::absolute(settings.dump, error).string();
  if (::access(dump.c_str(), R_OK) != 0) return report(fail_errno("open", settings.dump, errno).value());
  const std::string modules = router::modules_beside(dump);
  if (!settings.modules.empty()) REPORT_IF_ERROR(unpack(settings.modules, modules));
  std::vector<std::string> commands;
  if (std::filesystem::is_directory(modules, error)) {
    commands = debugger_commands(modules);
  } else {
    print_message(
        fmt::format("there is no {}: the debugger looks for the runtime's files on this machine and at "
                    "Microsoft's server",
                    escape(modules)));
  }
  commands.insert(commands.end(), settings.commands.begin(), settings.commands.end());
  std::vector<std::string> arguments{kDebugger, "analyze", dump};
  for (const std::string& each : commands) {
    arguments.emplace_back("-c");
    arguments.push_back(each);
  }
  return report(become_debugger(std::move(arguments)));
}

constexpr const char* kOpenAbout =
    "Starts dotnet-dump for a dump, and tells it where the files of the runtime are that wrote the dump:\n"
    "in FILE.runtime, where farport dump and a mirror put them. So it works without that runtime, and "
    "without\n"
    "a network. --modules takes those from an archive that an agent has kept.";
constexpr const char* kOpenExamples = R"(Examples:
  farport open orders.dmp
  farport open orders.dmp -c "dumpheap -stat" -c exit
  farport open orders.dmp --modules 20261127T101112Z-orders-1-1a2b3c4d.tar)";

RunCommand add_open_options(CLI::App& options, config::Flags& flags) {
  std::ignore = flags;
  const auto into = std::make_shared<OpenSettings>();
  options.add_option("FILE", into->dump, "The dump")->required();
  options.add_option("--modules", into->modules, "An archive with the runtime's files, for FILE.runtime")
      ->type_name("ARCHIVE");
  options.add_option("-c,--command", into->commands, "A command for dotnet-dump; may be repeated")
      ->type_name("COMMAND")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return [into] { return open(*into); };
}

}  // namespace

const Command kOpen{"open", "Open a dump with dotnet-dump, without the runtime that wrote it", kOpenAbout,
                    kOpenExamples, add_open_options};

}  // namespace farport::cli
