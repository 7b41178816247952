#include "router/mirror/runtime_connections.hpp"

#include <array>
#include <cerrno>

#include "ipc/event_pipe.hpp"
#include "router/mirror/answers.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/stream/decompressing_stream.hpp"
#include "router/stream/relay.hpp"
#include "router/wire/session_options.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// How often a dump's progress is logged.
constexpr std::uint64_t kDumpLogMs = 5000;

/// Takes what a tool has sent after its runtime's end: closing over it would reset the connection, and with
/// it what the tool has not read yet.
void discard_unread(transport::FdStream& tool) {
  std::array<std::byte, 16384> ignored;
  for (int reads = 0; reads < 64; ++reads) {
    const transport::Io io = tool.try_read(ignored);
    if (io.status != IoStatus::ok) return;
  }
}

}  // namespace

Task<void> RuntimeConnections::carry(std::unique_ptr<transport::FdStream> tool) {
  services_.on_change();
  std::optional<FirstMessage> first;
  const Result<void> joined = co_await join(*tool, first);
  if (!joined && joined.error().cause != ECANCELED) {
    // A tool that hears of an unknown command asks by an older one: nobody has to know.
    const bool usual = joined.error().cause == Cause::runtime(ipc::hresult::kUnknownCommand);
    const std::string why = joined.error().message();
    if (usual) services_.log->debug("{} (pid {}): {}", runtime_.name, runtime_.pid, why);
    if (!usual) services_.log->warn("{} (pid {}): {}", runtime_.name, runtime_.pid, why);
    const ipc::Command command = first ? first->command() : ipc::Command{};
    co_await refuse(*tool, joined.error(), command);
  }
  services_.on_change();
}

Task<Result<void>> RuntimeConnections::join(transport::FdStream& tool, std::optional<FirstMessage>& first) {
  // A tool must not take what was broken off for whole.
  tool.reset_unless_finished();
  auto read = co_await read_first_message(tool);
  // A tool that comes and goes without a whole command has nothing to be told.
  if (!read && read.error().cause != EBADMSG) co_return Result<void>{};
  if (!read) co_return tl::unexpected(read.error());
  first = *read;
  Task<Result<void>> work = ipc::is_core_dump(first->command()) ? take_dump(tool, std::move(*read))
                                                                : join_runtime(tool, std::move(*read));
  Result<void> done = co_await work;
  co_return done;
}

Task<Result<void>> RuntimeConnections::join_runtime(transport::FdStream& tool, FirstMessage first) {
  if (first.command() == ipc::kStopTracing) ++stops_;
  const std::uint64_t stops_before = stops_;
  ResumableRequest request(sessions_, "/v1/runtimes/" + runtime_.id + "/ipc",
                           accepted_encodings(sessions_.options()));
  transport::Stream& runtime = request.stream();
  {
    const auto guard = abort_when_gone(tool, runtime);
    const IoStatus sent = co_await runtime.write(first.bytes);
    if (sent != IoStatus::ok) co_return tl::unexpected(runtime.error());
    const IoStatus answered = co_await request.head_received();
    if (answered != IoStatus::ok) co_return tl::unexpected(runtime.error());
  }
  if (request.head().status != http_status::kOk) {
    const auto refused = co_await read_body(request.head(), runtime);
    if (!refused) co_return tl::unexpected(refused.error());
  }
  std::optional<DecompressingStream> decompressing;
  if (is_zstd(request.head())) decompressing.emplace(runtime);
  transport::Stream& from_runtime = decompressing ? *decompressing : runtime;
  transport::BufferBudget::LateHolding held(
      [this] { return sessions_.party().memory(); },
      [&tool] {
        tool.abort(Error{
            "keep what is held for", "a connection", "this program keeps as much as it may", {}, ENOBUFS});
      });
  const RelayOutcome outcome = co_await relay(tool, from_runtime, services_.buffers, held);
  services_.log->debug("{} on {}: {} bytes", first.command(), runtime_.name, outcome.to_tool);
  if (!outcome.broken) discard_unread(tool);
  // Only a tool that is still there misses anything.
  if (outcome.broken && !tool.peer_gone()) note_cut_off(first.command(), outcome.broken->message());
  // An agent that stops has the runtime end its sessions in good order: the tool takes that for its own
  // doing.
  if (outcome.runtime_ended && ipc::is_collect_tracing(first.command()) && stops_ == stops_before &&
      request.agent_stopped()) {
    note_cut_off(first.command(), "the agent at " + sessions_.address() + " was stopped");
  }
  co_return Result<void>{};
}

void RuntimeConnections::note_lost_session() {
  if (size() == 0) return;
  ++services_.cut_off;
  services_.log->warn(
      "what tools had under way on {} (pid {}) was cut off: the session with {} did not come back within "
      "{:g} s",
      runtime_.name, runtime_.pid, sessions_.address(),
      std::chrono::duration<double>(services_.session.grace).count());
}

void RuntimeConnections::note_cut_off(ipc::Command command, const std::string& why) {
  ++services_.cut_off;
  services_.log->warn("{} on {} (pid {}) was cut off: {}; what the tool has got ends there",
                      ipc::describe(command), runtime_.name, runtime_.pid, why);
}

Task<Result<void>> RuntimeConnections::take_dump(transport::FdStream& tool, FirstMessage first) {
  OnDumpProgress on_progress = [this](const DumpProgress& progress) { show_dump(progress); };
  std::function<void()> on_taken = [this] { dump_.reset(); };
  Result<void> taken = co_await take_dump_for_tool(services_.log, sessions_, runtime_, tool, std::move(first),
                                                   std::move(on_progress), std::move(on_taken));
  co_return taken;
}

void RuntimeConnections::show_dump(const DumpProgress& progress) {
  dump_ = progress;
  services_.on_change();
  const std::uint64_t now = services_.loop.now_ms();
  if (now - dump_logged_ms_ < kDumpLogMs) return;
  dump_logged_ms_ = now;
  services_.log->info("dump of {}: {}", runtime_.name, describe(progress));
}

Task<void> RuntimeConnections::refuse(transport::Stream& tool, Error why, ipc::Command command) {
  const std::uint32_t hresult =
      why.cause == EBADMSG ? std::uint32_t{ipc::hresult::kBadEncoding} : http_status::hresult_of(why.cause);
  // The only command whose answer has room for words.
  const bool has_text = command == ipc::kGenerateCoreDump3;
  // What the agent says stands by itself: its errors carry an HRESULT or a status.
  const Cause::Kind kind = why.cause.kind();
  const bool from_agent = kind == Cause::Kind::runtime || kind == Cause::Kind::http;
  const std::string text = from_agent ? why.why : why.message();
  const ipc::Bytes answer = ipc::encode_error(hresult, has_text ? text : std::string());
  const IoStatus written = co_await tool.write(answer);
  if (written == IoStatus::ok) std::ignore = co_await tool.finish();
}

}  // namespace farport::router
