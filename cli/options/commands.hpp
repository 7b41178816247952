// The commands: each has a file in cli/commands/, and its row here.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "config/flags.hpp"
#include "config/settings.hpp"

namespace CLI {
class App;
}

namespace farport::cli {

/// How commands end.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;        ///< It failed at run time.
inline constexpr int kUsage = 2;          ///< Wrong usage or configuration.
inline constexpr int kNoAnswer = 3;       ///< The runtime did not answer in time.
inline constexpr int kInterrupted = 130;  ///< By its user.

/// Runs a command with what it was given, and returns its exit code.
using RunCommand = std::function<int()>;

struct Command {
  const char* name;      ///< "ps"; "certs init" for one below another.
  const char* summary;   ///< A line for the list of commands.
  const char* about;     ///< For its own help; null: the summary says all.
  const char* examples;  ///< The same.
  /// Adds the command's own options and arguments. They are parsed into `flags`, or into what the function
  /// that is returned keeps. Null: it has only commands below it.
  RunCommand (*add_options)(CLI::App& options, config::Flags& flags);
};

extern const Command kQuickstart, kJoin, kServe, kConnect, kDisconnect, kRun, kPs, kDump, kTrace, kCounters,
    kTop, kLogs, kExceptions, kProfile, kStacks, kGcdump, kOpen, kRecent, kCrashes, kArtifacts, kRules,
    kConvert, kConvertRules, kCanI, kCerts, kCertsInit, kCertsServer, kCertsClient, kCertsBundle, kCheck,
    kDoctor, kStdio, kHelpAll;

/// In the order of the help.
inline constexpr std::array kCommands{
    &kQuickstart,  &kJoin,         &kServe,  &kConnect,  &kDisconnect, &kRun,         &kPs,
    &kDump,        &kOpen,         &kTrace,  &kCounters, &kTop,        &kLogs,        &kExceptions,
    &kProfile,     &kStacks,       &kGcdump, &kRecent,   &kCrashes,    &kArtifacts,   &kRules,
    &kConvert,     &kConvertRules, &kCanI,   &kCerts,    &kCertsInit,  &kCertsServer, &kCertsClient,
    &kCertsBundle, &kCheck,        &kDoctor, &kStdio,    &kHelpAll};

/// Runs `farport connect` to its end, for other commands that end in it. The exit code.
int connect(const config::ConnectSettings& settings);
/// The same in a process that goes on by itself; returns once the runtimes are listed.
int connect_detached(const config::ConnectSettings& settings);

/// Prints "farport: …" to standard error, and returns the exit code by its cause: kNoAnswer, kInterrupted
/// (EINTR), else kFailure.
int report(const Error& error);
/// The same, and returns `exit_code`.
int report(const Error& error, int exit_code);
/// The same for a file that can't be written: a wrong name is wrong usage, and what the system refuses is
/// not.
int report_output(const Error& error);
/// The same for what is wrong with a configuration: returns kUsage.
int report(const std::vector<std::string>& problems);

}  // namespace farport::cli

// Leaving a command with a failure. The optional last argument is the exit code, as report() takes it. Both
// call the report() in scope, so that a command may report in its own way.

/// ASSIGN_OR_REPORT(const auto agents, agents_of(remotes), kUsage): declares `agents` with the result's
/// value.
#define ASSIGN_OR_REPORT(declaration, result, ...) \
  FARPORT_ASSIGN_OR_REPORT_(__LINE__, declaration, result __VA_OPT__(, ) __VA_ARGS__)
/// REPORT_IF_ERROR(become_user(settings), kUsage): for results whose value nobody needs.
#define REPORT_IF_ERROR(result, ...)                                                         \
  do {                                                                                       \
    const auto result_to_check = result;                                                     \
    if (!result_to_check) return report(result_to_check.error() __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)

#define FARPORT_ASSIGN_OR_REPORT_(number, declaration, result, ...) \
  FARPORT_ASSIGN_OR_REPORT_NUMBERED_(number, declaration, result __VA_OPT__(, ) __VA_ARGS__)
#define FARPORT_ASSIGN_OR_REPORT_NUMBERED_(number, declaration, result, ...)               \
  auto result_##number = result;                                                           \
  if (!result_##number) return report(result_##number.error() __VA_OPT__(, ) __VA_ARGS__); \
  declaration = *std::move(result_##number)
