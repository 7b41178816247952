#include "router/mirror/tool_dump.hpp"

#include "ipc/payload.hpp"
#include "ipc/error.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

}  // namespace

Task<Result<void>> take_dump_for_tool(Log log, SessionManager& sessions, const Runtime& runtime,
                                      transport::Stream& tool, FirstMessage first, OnDumpProgress on_progress,
                                      std::function<void()> on_taken) {
  const auto command = ipc::GenerateCoreDump::decode(first.payload());
  if (!command || !command->path.starts_with('/')) {
    const Error wrong{"take the dump to",
                      command ? command->path : "a path",
                      "the path must be absolute",
                      {},
                      Cause::runtime(ipc::hresult::kInvalidArgument)};
    co_return tl::unexpected(command ? wrong : command.error());
  }
  log->info("taking a {} dump of {} (pid {}) to {}", ipc::name_of(command->type), runtime.name, runtime.pid,
            command->path);
  if ((command->flags & ipc::dump_flag::kCrashReport) != 0) {
    log->warn("the crash report that the tool asks for stays away: only the dump is brought to {}",
              command->path);
  }
  Task<Result<std::uint64_t>> receiving = receive_dump(sessions, runtime.id, {command->type, command->flags},
                                                       command->path, std::move(on_progress));
  const auto received = co_await first_of(std::move(receiving), tool.gone());
  on_taken();
  if (!received) {
    log->warn("the dump of {} is cancelled: its tool is gone", runtime.name);
    co_return Result<void>{};
  }
  if (!*received) co_return tl::unexpected(received->error());
  log->info("the dump of {} is at {}: {} bytes", runtime.name, command->path, **received);
  const ipc::Bytes ok = ipc::encode_ok();
  const IoStatus told = co_await tool.write(ok);
  if (told == IoStatus::ok) std::ignore = co_await tool.finish();
  co_return Result<void>{};
}

}  // namespace farport::router
