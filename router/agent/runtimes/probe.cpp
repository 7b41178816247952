#include "router/agent/runtimes/probe.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "base/text.hpp"
#include "ipc/event_pipe.hpp"
#include "ipc/message.hpp"
#include "ipc/payload.hpp"
#include "router/stream/first_message.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::IoStatus;
using transport::Task;

/// Newest first: a newer command tells more.
constexpr std::array kQuestions{ipc::kProcessInfo3, ipc::kProcessInfo2, ipc::kProcessInfo};

/// How much is kept of a runtime's own texts, in bytes.
constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxCommandLine = 4096;
constexpr std::size_t kMaxWord = 128;

/// How long it may take to read a process's command line.
constexpr transport::Milliseconds kCommandLineLimit{1000};

/// The base name of a command line's first word.
std::string command_of(const std::string& command_line) {
  const std::string first = command_line.substr(0, command_line.find(' '));
  return std::string(file_of(first));
}

/// Shortens a text of a runtime, since it is kept for as long as the runtime is listed.
std::string with_ellipsis(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : std::string(shortened(text, most)) + "…";
}

Runtime runtime_of(const ipc::ProcessInfo& info) {
  Runtime runtime;
  runtime.id = info.cookie.to_string();
  runtime.pid = info.pid;
  runtime.name = with_ellipsis(
      info.entry_assembly.empty() ? command_of(info.command_line) : info.entry_assembly, kMaxName);
  runtime.command_line = with_ellipsis(info.command_line, kMaxCommandLine);
  runtime.os = with_ellipsis(info.os, kMaxWord);
  runtime.architecture = with_ellipsis(info.architecture, kMaxWord);
  runtime.version = with_ellipsis(info.clr_version, kMaxWord);
  runtime.since = utc_text(std::chrono::system_clock::now());
  return runtime;
}

/// The application's name by its command line: `dotnet orders.dll` is orders.
std::string application_of(const std::vector<std::string>& arguments) {
  constexpr std::string_view kAssembly = ".dll";
  const std::string_view program = file_of(arguments.front());
  if (program != "dotnet") return std::string(program);
  for (const std::string_view argument : arguments) {
    if (argument.ends_with(kAssembly)) {
      const std::string_view file = file_of(argument);
      return std::string(file.substr(0, file.size() - kAssembly.size()));
    }
  }
  return std::string(program);
}

/// Splits /proc/PID/cmdline into its arguments, each of which ends with a zero byte.
std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> arguments;
  while (!text.empty()) arguments.emplace_back(take_until(text, '\0'));
  return arguments;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// Makes a GUID from a process: PPPPPPPP-0000-8000-8000-SSSSSSSSSSSS. It has version 8 (RFC 9562 section
/// 5.8), while those of runtimes are random and have version 4.
Guid guid_of(pid_t pid, std::uint64_t start) {
  return *Guid::parse(fmt::format("{:08x}-0000-8000-8000-{:012x}", static_cast<std::uint32_t>(pid),
                                  start & 0xFFFF'FFFF'FFFFULL));
}

}  // namespace

Task<Result<ipc::Message>> ask(FdStream& connection, ipc::Message command) {
  const transport::Deadline limit(connection.loop(), kProbeLimit, [&connection] {
    connection.abort(Error{"ask the runtime at", connection.name(), "it doesn't answer",
                           "is something else holding its diagnostics?"});
  });
  const auto question = ipc::encode_message(command);
  const IoStatus written = co_await connection.write(*question);
  if (written != IoStatus::ok) co_return tl::unexpected(connection.error());
  CO_ASSIGN_OR_RETURN(const auto answer, co_await read_first_message(connection));
  co_return ipc::decode_message(answer.bytes);
}

Task<Result<Runtime>> probe(OpenPort open, std::string where, std::unique_ptr<FdStream> first) {
  std::unique_ptr<FdStream> connection = std::move(first);
  for (const ipc::Command command : kQuestions) {
    if (connection == nullptr) {
      CO_ASSIGN_OR_RETURN(auto opened, co_await open());
      connection = std::move(opened);
    }
    CO_ASSIGN_OR_RETURN(const auto answer, co_await ask(*connection, ipc::make_message(command)));
    if (ipc::is_ok(answer)) {
      CO_ASSIGN_OR_RETURN(const auto info, ipc::decode_process_info(command, answer.payload));
      co_return runtime_of(info);
    }
    CO_ASSIGN_OR_RETURN(const auto refused, ipc::decode_error(answer));
    if (refused.hresult != ipc::hresult::kUnknownCommand) {
      co_return fail("ask the runtime at", where, refused.message());
    }
    connection.reset();
  }
  co_return tl::unexpected(Error{"ask the runtime at",
                                 where,
                                 "it knows none of the ProcessInfo commands",
                                 {},
                                 Cause::runtime(ipc::hresult::kUnknownCommand)});
}

Task<Runtime> runtime_by_process(transport::Loop& loop, pid_t pid, std::uint64_t start) {
  const auto command_line = std::make_shared<std::optional<std::string>>();
  // The process decides how long this takes, since it reads the process's memory.
  const std::function<void()> read = [command_line, pid] {
    *command_line = read_limited(directory_of_process(pid) + "/cmdline", kMaxCommandLine);
  };
  const Result<void> done = co_await transport::run_detached(loop, read, kCommandLineLimit);
  Runtime runtime;
  runtime.id = guid_of(pid, start).to_string();
  runtime.pid = pid_in_own_namespace(pid);
  if (done && *command_line) {
    const std::vector<std::string> arguments = split_arguments(**command_line);
    if (!arguments.empty()) runtime.name = with_ellipsis(application_of(arguments), kMaxName);
    runtime.command_line = with_ellipsis(joined(arguments), kMaxCommandLine);
  }
  if (runtime.name.empty()) {
    const auto stat = process_stat(pid);
    runtime.name = stat ? stat->name : std::string();
  }
  runtime.os = "Linux";
  runtime.since = utc_text(std::chrono::system_clock::now());
  co_return runtime;
}

namespace {

using transport::Milliseconds;

/// How often to ask a runtime that may be starting up. After that a command line without arguments is
/// believed.
constexpr int kStartUpProbes = 5;
constexpr Milliseconds kStartUpPause{200};
/// How long a session's header may take before the runtime is listed as suspended, for as long as that holds.
constexpr Milliseconds kFirstEvents{500};
/// The most bytes of an environment in UTF-16. Those of services have a few thousand characters.
constexpr std::uint32_t kMaxEnvironment = 1024 * 1024;
/// Read in parts of this size, so that memory is taken for what has come and not for what is announced.
constexpr std::size_t kEnvironmentPart = 16 * 1024;

/// The value of a setting of the runtime, which looks for the prefix DOTNET_ first.
std::optional<std::string_view> setting(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string_view prefix : {"DOTNET_", "COMPlus_"}) {
    for (const std::string_view variable : environment) {
      const std::size_t equals = variable.find('=');
      if (equals == prefix.size() + name.size() && variable.starts_with(prefix) &&
          variable.substr(prefix.size(), name.size()) == name && equals + 1 < variable.size()) {
        return variable.substr(equals + 1);
      }
    }
  }
  return std::nullopt;
}

/// The non-empty parts of a text between separators.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::string_view part = take_until(text, separator);
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

/// Whether a port of the form ADDRESS[,connect|listen][,suspend|nosuspend] suspends the runtime. The first of
/// several such words counts; unknown words are ignored.
bool suspends(std::string_view port) {
  const std::vector<std::string_view> parts = split(port, ',');
  if (parts.empty()) return false;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (equal_without_case(parts[i], "suspend")) return true;
    if (equal_without_case(parts[i], "nosuspend")) return false;
  }
  return true;
}

/// Whether a number is above zero. The runtime reads numbers as hexadecimal.
bool is_above_zero(std::string_view text) {
  unsigned number = 0;
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return error == std::errc() && number > 0;
}

/// Reads the continuation of the answer to ProcessEnvironment.
Task<Result<std::vector<std::string>>> read_environment(FdStream& connection, std::uint32_t size) {
  if (size > kMaxEnvironment) co_return fail("read the environment at", connection.name(), "it is too large");
  const transport::Deadline limit(connection.loop(), kProbeLimit, [&connection] {
    connection.abort(Error{"read the environment at", connection.name(), "it doesn't come"});
  });
  std::vector<std::byte> bytes;
  for (bool more = true; more && bytes.size() < size;) {
    const std::size_t before = bytes.size();
    bytes.resize(std::min<std::size_t>(size, before + kEnvironmentPart));
    const transport::Io io = co_await connection.read_exactly(std::span(bytes).subspan(before));
    if (io.status == transport::IoStatus::failed) co_return tl::unexpected(connection.error());
    bytes.resize(before + io.bytes);
    more = io.status == transport::IoStatus::ok;
  }
  co_return ipc::decode_environment(bytes);
}

}  // namespace

bool has_arguments(std::string_view command_line) {
  const bool quoted = command_line.starts_with('"');
  const std::size_t end = quoted ? command_line.find('"', 1) : 0;
  return end != std::string_view::npos && command_line.find(' ', end) != std::string_view::npos;
}

int count_suspending_ports(const std::vector<std::string>& environment) {
  int count = 0;
  if (const auto ports = setting(environment, "DiagnosticPorts")) {
    const std::vector<std::string_view> all = split(*ports, ';');
    count += static_cast<int>(std::count_if(all.begin(), all.end(), suspends));
  }
  const auto default_port = setting(environment, "DefaultDiagnosticPortSuspend");
  return default_port && is_above_zero(*default_port) ? count + 1 : count;
}

Task<Result<int>> count_suspending_ports(OpenPort open, std::string where) {
  CO_ASSIGN_OR_RETURN(auto connection, co_await open());
  CO_ASSIGN_OR_RETURN(const auto answer,
                      co_await ask(*connection, ipc::make_message(ipc::kProcessEnvironment)));
  if (!ipc::is_ok(answer)) co_return fail("read the environment at", where, "the runtime refuses it");
  CO_ASSIGN_OR_RETURN(const auto announced, ipc::EnvironmentAnswer::decode(answer.payload));
  CO_ASSIGN_OR_RETURN(const auto environment, co_await read_environment(*connection, announced.size));
  co_return count_suspending_ports(environment);
}

Task<Result<void>> until_it_runs(OpenPort open, std::string where) {
  CO_ASSIGN_OR_RETURN(const auto session, co_await open());
  ipc::CollectTracing wanted;
  wanted.buffer_size_mb = 1;
  wanted.rundown = false;
  ipc::Provider nobody;
  nobody.name = "farport-waits-until-it-runs";
  wanted.providers.push_back(nobody);
  CO_ASSIGN_OR_RETURN(const auto answer,
                      co_await ask(*session, ipc::make_message(wanted.version, wanted.encode())));
  CO_RETURN_IF_ERROR(ipc::outcome_of(answer, wanted.version));
  CO_ASSIGN_OR_RETURN(const auto id, ipc::SessionId::decode(answer.payload));
  std::array<std::byte, 1> first{};
  const transport::Io io = co_await session->read_exactly(first);
  if (io.status == IoStatus::failed) co_return tl::unexpected(session->error());
  if (io.bytes == 0) co_return fail("wait for", where, "it has ended its session");
  const DiagnosticPort::Connection stopping = co_await open();
  if (stopping) std::ignore = co_await ask(**stopping, ipc::make_message(ipc::kStopTracing, id.encode()));
  co_return Result<void>();
}

Task<Result<Runtime>> once_started(transport::Loop& loop, OpenPort open, std::string where, Runtime runtime) {
  Result<Runtime> now = std::move(runtime);
  for (int again = 0; now && again < kStartUpProbes && !has_arguments(now->command_line); ++again) {
    co_await transport::sleep(loop, kStartUpPause);
    now = co_await probe(open, where, nullptr);
  }
  co_return now;
}

Task<Result<Runtime>> introduce(transport::Loop& loop, OpenPort open, std::string where,
                                std::unique_ptr<FdStream> first) {
  Result<Runtime> runtime = co_await probe(open, where, std::move(first));
  if (!runtime || has_arguments(runtime->command_line)) co_return runtime;
  // A runtime that doesn't tell its environment is assumed to be starting.
  const Result<int> suspending = co_await count_suspending_ports(open, where);
  if (suspending && *suspending > 0) {
    const std::optional<Result<void>> runs =
        co_await with_deadline(loop, until_it_runs(open, where), kFirstEvents);
    if (!runs || !*runs) {
      runtime->state = RuntimeState::suspended;
      co_return runtime;
    }
  }
  co_return co_await once_started(loop, open, where, std::move(*runtime));
}

}  // namespace farport::router
