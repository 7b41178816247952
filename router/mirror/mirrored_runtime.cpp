#include "router/mirror/mirrored_runtime.hpp"

#include <array>
#include <cerrno>

#include "ipc/dump.hpp"
#include "ipc/error.hpp"
#include "ipc/event_pipe.hpp"
#include "router/mirror/dump_receiver.hpp"
#include "router/mirror/listening_tool.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/stream/decompressing_stream.hpp"
#include "router/stream/relay.hpp"
#include "router/wire/content_encoding.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// How often a dump's progress is logged.
constexpr std::uint64_t kDumpLogMs = 5000;

/// Where stock tools look for a process's socket.
std::vector<std::string> socket_paths(const std::string& directory, const Placeholder& placeholder) {
  const std::string suffix =
      std::to_string(placeholder.pid()) + "-" + std::to_string(placeholder.start_time()) + "-socket";
  return {directory + "/dotnet-diagnostic-" + suffix,
          // Second, since dotnet-gcdump ignores one that is older than the plain one.
          directory + "/dotnet-diagnostic-dsrouter-" + suffix};
}

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

bool has_room_for_sockets(const std::string& directory, std::size_t more) {
  // The largest pid that Linux gives, and a start time for the next thousand years.
  constexpr std::string_view kLongest = "/dotnet-diagnostic-dsrouter-4194304-3153600000000-socket";
  return directory.size() + more + kLongest.size() <= transport::kMaxUnixPath;
}

MirroredRuntime::MirroredRuntime(MirrorServices& services, Runtime runtime, AgentDialler& dialler)
    : services_(services),
      runtime_(std::move(runtime)),
      dialler_(dialler),
      connections_(services.loop),
      acceptors_(services.loop) {
  ++services_.runtimes;
}

MirroredRuntime::~MirroredRuntime() {
  retire();
  connections_.clear();
  --services_.runtimes;
}

void MirroredRuntime::retire() {
  acceptors_.clear();
  listeners_.clear();
  for (const std::string& path : paths_) services_.files.remove(path);
  placeholder_.reset();
}

Task<Result<std::unique_ptr<MirroredRuntime>>> MirroredRuntime::start(MirrorServices& services,
                                                                      Runtime runtime, Places places,
                                                                      AgentDialler& dialler,
                                                                      std::function<void()> on_lost) {
  auto mirrored = std::make_unique<MirroredRuntime>(services, std::move(runtime), dialler);
  const Runtime& remote = mirrored->runtime_;
  const std::string& directory = services.files.directory();
  auto placeholder =
      co_await Placeholder::start(services.loop, services.image, remote.name,
                                  split_command_line(remote.command_line), directory, std::move(on_lost));
  if (!placeholder) co_return tl::unexpected(placeholder.error());
  mirrored->placeholder_ = std::move(*placeholder);
  std::vector<std::string> paths = socket_paths(directory, *mirrored->placeholder_);
  for (std::string& path : places.sockets) paths.push_back(std::move(path));
  for (std::string& path : paths) {
    const Result<void> opened = mirrored->open_socket(std::move(path));
    if (!opened) co_return tl::unexpected(opened.error());
  }
  for (const std::string& tool : places.tools) {
    const Result<void> dialled = mirrored->dial(tool);
    if (!dialled) co_return tl::unexpected(dialled.error());
  }
  co_return mirrored;
}

Result<void> MirroredRuntime::dial(const std::string& tool) {
  const auto cookie = ipc::Guid::parse(runtime_.id);
  if (!cookie) return fail("offer", runtime_.name, "the agent gives it no proper identity");
  // The placeholder's pid: a tool looks it up on its own host.
  const ipc::Advertise advertise{*cookie, static_cast<std::uint64_t>(local_pid())};
  acceptors_.spawn(dial_listening_tool(services_.loop, tool, advertise, [this](auto connection) {
    connections_.spawn(carry(std::move(connection)));
  }));
  return {};
}

Result<void> MirroredRuntime::open_socket(std::string path) {
  const Result<void> free = services_.files.add(path);
  if (!free) return free;
  auto listener = transport::Listener::unix_socket(services_.loop, path);
  if (!listener) {
    services_.files.remove(path);
    return tl::unexpected(listener.error());
  }
  services_.files.made(path);
  paths_.push_back(std::move(path));
  acceptors_.spawn(accept(**listener));
  listeners_.push_back(std::move(*listener));
  return {};
}

Task<void> MirroredRuntime::accept(transport::Listener& listener) {
  for (;;) {
    auto tool = co_await listener.accept();
    connections_.spawn(carry(std::move(tool)));
  }
}

Task<void> MirroredRuntime::carry(std::unique_ptr<transport::FdStream> tool) {
  services_.on_change();
  std::optional<FirstMessage> first;
  const Result<void> joined = co_await join(*tool, first);
  if (!joined && joined.error().code != ECANCELED) {
    services_.log->warn("{} (pid {}): {}", runtime_.name, runtime_.pid, joined.error().message());
    const ipc::Command command = first ? first->command() : ipc::Command{};
    co_await refuse(*tool, joined.error(), command);
  }
  services_.on_change();
}

Task<Result<void>> MirroredRuntime::join(transport::FdStream& tool, std::optional<FirstMessage>& first) {
  // A tool must not take what was broken off for whole.
  tool.reset_unless_finished();
  auto read = co_await read_first_message(tool);
  // A tool that comes and goes without a whole command has nothing to be told.
  if (!read && read.error().code != EBADMSG) co_return Result<void>{};
  if (!read) co_return tl::unexpected(read.error());
  first = *read;
  Task<Result<void>> work = ipc::is_core_dump(first->command()) ? answer_dump(tool, std::move(*read))
                                                                : join_runtime(tool, std::move(*read));
  Result<void> done = co_await work;
  co_return done;
}

Task<Result<void>> MirroredRuntime::join_runtime(transport::FdStream& tool, FirstMessage first) {
  if (first.command() == ipc::kStopTracing) ++stops_;
  const std::uint64_t stops_before = stops_;
  ResumableRequest request(dialler_, "/v1/runtimes/" + runtime_.id + "/ipc",
                           accepted_encodings(dialler_.options()));
  transport::Stream& runtime = request.stream();
  {
    const AbortWhenGone guard(tool, runtime);
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
  const RelayOutcome outcome = co_await relay(tool, from_runtime, services_.buffers);
  services_.log->debug("{} on {}: {} bytes", ipc::describe(first.command()), runtime_.name, outcome.to_tool);
  if (!outcome.broken) discard_unread(tool);
  // Only a tool that is still there misses anything.
  if (outcome.broken && !tool.peer_gone()) note_cut_off(first.command(), outcome.broken->message());
  // An agent that stops has the runtime end its sessions in good order: the tool takes that for its own
  // doing.
  if (outcome.runtime_ended && ipc::is_collect_tracing(first.command()) && stops_ == stops_before &&
      request.agent_stopped()) {
    note_cut_off(first.command(), "the agent at " + dialler_.address() + " was stopped");
  }
  co_return Result<void>{};
}

void MirroredRuntime::note_lost_session() {
  if (active() == 0) return;
  ++services_.cut_off;
  services_.log->warn(
      "what tools had under way on {} (pid {}) was cut off: the session with {} did not come back within "
      "{:g} s",
      runtime_.name, runtime_.pid, dialler_.address(),
      std::chrono::duration<double>(services_.session.grace).count());
}

void MirroredRuntime::note_cut_off(ipc::Command command, const std::string& why) {
  ++services_.cut_off;
  services_.log->warn("{} on {} (pid {}) was cut off: {}; what the tool has got ends there",
                      ipc::describe(command), runtime_.name, runtime_.pid, why);
}

namespace {

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

Task<Result<void>> MirroredRuntime::answer_dump(transport::FdStream& tool, FirstMessage first) {
  const auto command = ipc::GenerateCoreDump::decode(first.payload());
  if (!command || !command->path.starts_with('/')) {
    const Error wrong{"take the dump to",
                      command ? command->path : "a path",
                      "the path must be absolute",
                      {},
                      static_cast<int>(ipc::hresult::kInvalidArgument)};
    co_return tl::unexpected(command ? wrong : command.error());
  }
  services_.log->info("taking a {} dump of {} (pid {}) to {}", ipc::name_of(command->type), runtime_.name,
                      runtime_.pid, command->path);
  DumpRace race(services_.loop);
  OnDumpProgress on_progress = [this](const DumpProgress& progress) { show_dump(progress); };
  Task<void> receiving = receive_in(race, receive_dump(dialler_, runtime_.id, {command->type, command->flags},
                                                       command->path, std::move(on_progress)));
  Task<void> watching = watch_in(race, tool);
  receiving.start();
  watching.start();
  if (!race.received) co_await race.over.wait();
  dump_.reset();
  if (!race.received) {
    receiving.reset();
    services_.log->warn("the dump of {} is cancelled: its tool is gone", runtime_.name);
    co_return Result<void>{};
  }
  if (!*race.received) co_return tl::unexpected(race.received->error());
  services_.log->info("the dump of {} is at {}: {} bytes", runtime_.name, command->path, **race.received);
  const ipc::Bytes ok = ipc::encode_ok();
  const IoStatus told = co_await tool.write(ok);
  if (told == IoStatus::ok) std::ignore = co_await tool.finish();
  co_return Result<void>{};
}

void MirroredRuntime::show_dump(const DumpProgress& progress) {
  dump_ = progress;
  services_.on_change();
  const std::uint64_t now = services_.loop.now_ms();
  if (now - dump_logged_ms_ < kDumpLogMs) return;
  dump_logged_ms_ = now;
  services_.log->info("dump of {}: {}", runtime_.name, describe(progress));
}

Task<void> MirroredRuntime::refuse(transport::Stream& tool, Error why, ipc::Command command) {
  const std::uint32_t hresult =
      why.code == EBADMSG ? std::uint32_t{ipc::hresult::kBadEncoding} : http_status::hresult_of(why.code);
  // The only command whose answer has room for words.
  const bool has_text = command == ipc::kGenerateCoreDump3;
  // What the agent says stands by itself: its errors carry an HRESULT or a status.
  const bool from_agent = why.code < 0 || why.code >= http_status::kBadRequest;
  const std::string text = from_agent ? why.why : why.message();
  const ipc::Bytes answer = ipc::encode_error(hresult, has_text ? text : std::string());
  const IoStatus written = co_await tool.write(answer);
  if (written == IoStatus::ok) std::ignore = co_await tool.finish();
}

}  // namespace farport::router
