#include "router/agent/runtimes/suspension.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.hpp"
#include "ipc/error.hpp"
#include "ipc/payload.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::Milliseconds;
using transport::Task;

/// How long a runtime may be starting up: a command line without arguments is believed after that.
constexpr int kStartUpProbes = 5;
constexpr Milliseconds kStartUpPause{200};
/// An environment in UTF-16: some hundred thousand characters. Those of services are a few thousand.
constexpr std::uint32_t kMaxEnvironment = 1024 * 1024;
/// Room is made for what has come, not for what is announced.
constexpr std::size_t kEnvironmentPart = 16 * 1024;

/// The value of a setting of the runtime, which looks for DOTNET_ first.
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

/// The parts of a text between separators, without the empty ones.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// Whether a port ADDRESS[,connect|listen][,suspend|nosuspend] suspends the runtime. The first word counts
/// where there are several; unknown ones don't.
bool suspends(std::string_view port) {
  const std::vector<std::string_view> parts = split(port, ',');
  if (parts.empty()) return false;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (equal_without_case(parts[i], "suspend")) return true;
    if (equal_without_case(parts[i], "nosuspend")) return false;
  }
  return true;
}

/// A number as the runtime reads it: hexadecimal.
bool is_above_zero(std::string_view text) {
  unsigned number = 0;
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return error == std::errc() && number > 0;
}

/// The continuation of ProcessEnvironment's answer.
Task<Result<std::vector<std::string>>> read_environment(FdStream& connection, std::uint32_t size) {
  if (size > kMaxEnvironment) co_return fail("read the environment at", connection.name(), "it is too large");
  const transport::Deadline limit(connection.loop(), kProbeLimit, [&connection] {
    connection.abort(Error{"read the environment at", connection.name(), "it doesn't come", {}, 0});
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
  auto connection = co_await open();
  if (!connection) co_return tl::unexpected(connection.error());
  const auto answer = co_await ask(**connection, ipc::make_message(ipc::kProcessEnvironment));
  if (!answer) co_return tl::unexpected(answer.error());
  if (!ipc::is_ok(*answer)) co_return fail("read the environment at", where, "the runtime refuses it");
  const auto announced = ipc::EnvironmentAnswer::decode(answer->payload);
  if (!announced) co_return tl::unexpected(announced.error());
  const auto environment = co_await read_environment(**connection, announced->size);
  if (!environment) co_return tl::unexpected(environment.error());
  co_return count_suspending_ports(*environment);
}

Task<Result<Runtime>> introduce(transport::Loop& loop, OpenPort open, std::string where,
                                std::unique_ptr<FdStream> first) {
  Result<Runtime> runtime = co_await probe(open, where, std::move(first));
  if (!runtime || has_arguments(runtime->command_line)) co_return runtime;
  // A runtime that doesn't tell its environment is taken for one that is starting.
  const Result<int> suspending = co_await count_suspending_ports(open, where);
  if (suspending && *suspending > 0) {
    runtime->state = RuntimeState::suspended;
    co_return runtime;
  }
  for (int again = 0; again < kStartUpProbes && !has_arguments(runtime->command_line); ++again) {
    co_await transport::sleep(loop, kStartUpPause);
    runtime = co_await probe(open, where, nullptr);
    if (!runtime) co_return runtime;
  }
  co_return runtime;
}

}  // namespace farport::router
