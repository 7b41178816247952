#include "router/mirror/tool_dump.hpp"

#include "ipc/dump.hpp"
#include "ipc/error.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// A dump that ends early where its tool is gone: whichever of the two is over first decides.
struct DumpRace {
  explicit DumpRace(transport::Loop& loop) : over(loop) {}
  transport::Event over;
  std::optional<Result<std::uint64_t>> received;
};

Task<void> receive_in(DumpRace& race, Task<Result<std::uint64_t>> work) {
  race.received = co_await work;
  race.over.set();
}

Task<void> watch_in(DumpRace& race, transport::Stream& tool) {
  co_await tool.gone();
  race.over.set();
}

}  // namespace

Task<Result<void>> take_dump_for_tool(Log log, AgentDialler& dialler, const Runtime& runtime,
                                      transport::Stream& tool, FirstMessage first, OnDumpProgress on_progress,
                                      std::function<void()> on_taken) {
  const auto command = ipc::GenerateCoreDump::decode(first.payload());
  if (!command || !command->path.starts_with('/')) {
    const Error wrong{"take the dump to",
                      command ? command->path : "a path",
                      "the path must be absolute",
                      {},
                      static_cast<int>(ipc::hresult::kInvalidArgument)};
    co_return tl::unexpected(command ? wrong : command.error());
  }
  log->info("taking a {} dump of {} (pid {}) to {}", ipc::name_of(command->type), runtime.name, runtime.pid,
            command->path);
  DumpRace race(tool.loop());
  Task<void> receiving = receive_in(race, receive_dump(dialler, runtime.id, {command->type, command->flags},
                                                       command->path, std::move(on_progress)));
  Task<void> watching = watch_in(race, tool);
  receiving.start();
  watching.start();
  if (!race.received) co_await race.over.wait();
  on_taken();
  if (!race.received) {
    receiving.reset();
    log->warn("the dump of {} is cancelled: its tool is gone", runtime.name);
    co_return Result<void>{};
  }
  if (!*race.received) co_return tl::unexpected(race.received->error());
  log->info("the dump of {} is at {}: {} bytes", runtime.name, command->path, **race.received);
  const ipc::Bytes ok = ipc::encode_ok();
  const IoStatus told = co_await tool.write(ok);
  if (told == IoStatus::ok) std::ignore = co_await tool.finish();
  co_return Result<void>{};
}

}  // namespace farport::router
