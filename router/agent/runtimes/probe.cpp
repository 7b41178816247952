#include "router/agent/runtimes/probe.hpp"

#include <array>

#include "base/directory.hpp"
#include "ipc/error.hpp"
#include "ipc/process_info.hpp"
#include "router/stream/first_message.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::IoStatus;
using transport::Task;

/// The newest first: each knows more than the one before it.
constexpr std::array kQuestions{ipc::kProcessInfo3, ipc::kProcessInfo2, ipc::kProcessInfo};

/// What is kept of a runtime's own words, in bytes.
constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxCommandLine = 4096;
constexpr std::size_t kMaxWord = 128;

/// The base name of a command line's first word.
std::string command_of(const std::string& command_line) {
  const std::string first = command_line.substr(0, command_line.find(' '));
  return std::string(file_of(first));
}

/// A runtime's text, which is kept for as long as it is listed, in reasonable length.
std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  // Not in the middle of a character of UTF-8.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most) + "…";
}

Runtime runtime_of(const ipc::ProcessInfo& info) {
  Runtime runtime;
  runtime.id = info.cookie.to_string();
  runtime.pid = info.pid;
  runtime.name =
      shortened(info.entry_assembly.empty() ? command_of(info.command_line) : info.entry_assembly, kMaxName);
  runtime.command_line = shortened(info.command_line, kMaxCommandLine);
  runtime.os = shortened(info.os, kMaxWord);
  runtime.architecture = shortened(info.architecture, kMaxWord);
  runtime.version = shortened(info.clr_version, kMaxWord);
  runtime.since = utc_now();
  return runtime;
}

}  // namespace

Task<Result<ipc::Message>> ask(FdStream& connection, ipc::Message command) {
  const transport::Deadline limit(connection.loop(), kProbeLimit, [&connection] {
    connection.abort(Error{"ask the runtime at", connection.name(), "it doesn't answer",
                           "is something else holding its diagnostics?", 0});
  });
  const auto question = ipc::encode_message(command);
  const IoStatus written = co_await connection.write(*question);
  if (written != IoStatus::ok) co_return tl::unexpected(connection.error());
  const auto answer = co_await read_first_message(connection);
  if (!answer) co_return tl::unexpected(answer.error());
  co_return ipc::decode_message(answer->bytes);
}

Task<Result<Runtime>> probe(OpenPort open, std::string where, std::unique_ptr<FdStream> first) {
  std::unique_ptr<FdStream> connection = std::move(first);
  for (const ipc::Command command : kQuestions) {
    if (connection == nullptr) {
      auto opened = co_await open();
      if (!opened) co_return tl::unexpected(opened.error());
      connection = std::move(*opened);
    }
    const auto answer = co_await ask(*connection, ipc::make_message(command));
    if (!answer) co_return tl::unexpected(answer.error());
    if (ipc::is_ok(*answer)) {
      const auto info = ipc::decode_process_info(command, answer->payload);
      if (!info) co_return tl::unexpected(info.error());
      co_return runtime_of(*info);
    }
    const auto refused = ipc::decode_error(*answer);
    if (!refused) co_return tl::unexpected(refused.error());
    if (refused->hresult != ipc::hresult::kUnknownCommand) {
      co_return fail("ask the runtime at", where, refused->message());
    }
    connection.reset();
  }
  co_return fail("ask the runtime at", where, "it knows none of the ProcessInfo commands");
}

}  // namespace farport::router
