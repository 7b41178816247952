// Telling a suspended runtime from a running one.
//
// No command says it. Until the application's code runs, a runtime's command line is its program alone: the
// host adds the arguments later. So does a runtime that is just starting. What it waits for stands in its
// environment: each port that suspends must be sent ResumeRuntime, on that very port.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "router/agent/runtimes/probe.hpp"

namespace farport::router {

/// Whether anything follows the command line's first word, which stands in quotes if it holds spaces.
[[nodiscard]] bool has_arguments(std::string_view command_line);

/// How many diagnostic ports a runtime with this environment ("NAME=value" each) waits for before it runs the
/// application: those of DOTNET_DiagnosticPorts that don't say nosuspend, and the default port where
/// DOTNET_DefaultDiagnosticPortSuspend says so; or their COMPlus_ forms.
[[nodiscard]] int count_suspending_ports(const std::vector<std::string>& environment);

/// The same of a living runtime, by ProcessEnvironment, which suspended runtimes answer too.
transport::Task<Result<int>> count_suspending_ports(OpenPort open, std::string where);

/// Asks a runtime that has just been found who it is, as probe() does: at once where it is suspended,
/// otherwise when its start is over, so that its whole command line is known.
transport::Task<Result<Runtime>> introduce(transport::Loop& loop, OpenPort open, std::string where,
                                           std::unique_ptr<transport::FdStream> first);

}  // namespace farport::router
