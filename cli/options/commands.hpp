// The commands, each with what it needs, and how they end.
#pragma once

#include <string>
#include <vector>

#include "config/flags.hpp"
#include "config/settings.hpp"

namespace farport::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;        ///< It failed at run time.
inline constexpr int kNoAnswer = 3;       ///< The runtime did not answer in time.
inline constexpr int kInterrupted = 130;  ///< By its user.
inline constexpr int kUsage = 2;          ///< Wrong usage or configuration.

/// Each runs a command to its end and returns the exit code.
int serve(const config::ServeSettings& settings);
int connect(const config::ConnectSettings& settings);
/// The same in a process that goes on by itself; returns once the runtimes are listed.
int connect_detached(const config::ConnectSettings& settings);
int run(const config::RunSettings& settings);
int can_i(const config::CanISettings& settings);
int doctor(const config::DoctorSettings& settings);
int dump(const config::DumpCommandSettings& settings);
int trace(const config::TraceSettings& settings);
int counters(const config::CountersSettings& settings);
int top(const config::TopSettings& settings);
int logs(const config::LogsSettings& settings);
int exceptions(const config::RecordingSettings& settings);
int stacks(const config::RecordingSettings& settings);
int profile(const config::ProfileSettings& settings);
int gcdump(const config::GcdumpSettings& settings);
int convert(const config::ConvertSettings& settings);
int ps(const config::PsSettings& settings);
/// Carries a session over standard input and output.
int stdio(const config::StdioSettings& settings);
/// Takes the flags as they are: what doesn't resolve is what it reports.
int check(const config::Flags& flags);

/// Takes the agents as they were named.
int disconnect(const config::Flags& flags);

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
