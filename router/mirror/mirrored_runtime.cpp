#include "router/mirror/mirrored_runtime.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/socket.h>

#include "ipc/event_pipe.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/stream/compressing_stream.hpp"
#include "router/stream/relay.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/session_options.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// How often a dump's progress is logged.
constexpr std::uint64_t kDumpLogMs = 5000;

/// Reads what a tool has sent after its runtime ended. Closing with unread data would reset the connection
/// and drop what the tool has not read yet.
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
    // A tool that is told of an unknown command falls back to an older one, so this is not worth a warning.
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
  // A tool must not take broken-off data for complete.
  tool.reset_unless_finished();
  auto read = co_await read_first_message(tool);
  // A tool that closes without a whole command needs no answer.
  if (!read && read.error().cause != EBADMSG) co_return Result<void>{};
  if (!read) co_return tl::unexpected(read.error());
  first = *read;
  Task<Result<void>> work = ipc::is_core_dump(first->command()) ? take_dump(tool, std::move(*read))
                                                                : join_runtime(tool, std::move(*read));
  Result<void> done = co_await work;
  co_return done;
}

Task<Result<void>> RuntimeConnections::join_runtime(transport::FdStream& tool, FirstMessage first) {
  if (first.command() == ipc::kStopTracing) {
    ++stops_;
    stops_in_ = sessions_.session();
  }
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
    CO_RETURN_IF_ERROR(co_await read_body(request.head(), runtime));
  }
  std::optional<DecompressingStream> decompressing;
  if (is_zstd(request.head())) decompressing.emplace(runtime);
  transport::Stream& from_runtime = decompressing ? *decompressing : runtime;
  transport::BufferBudget::LazyReservation held(
      [this] { return sessions_.party().memory(); },
      [&tool] {
        tool.abort(Error{"buffer data for",
                         "a connection",
                         "the mirror's memory for buffered data is used up: the tool reads too slowly",
                         {},
                         Cause(ENOBUFS)});
      });
  const RelayOutcome outcome = co_await relay(tool, from_runtime, services_.buffers, held);
  services_.log->debug("{} on {}: {} bytes", first.command(), runtime_.name, outcome.to_tool);
  if (!outcome.broken) discard_unread(tool);
  // Only a tool that is still connected misses anything.
  if (outcome.broken && !tool.peer_gone()) note_cut_off(first.command(), outcome.broken->message());
  // A stopping agent makes the runtime end its sessions in good order, which the tool takes for its own
  // request. dotnet-trace may even ask to stop what has just ended, but too late for the stopping agent.
  const bool tool_stopped = stops_ != stops_before && request.was_carried_by(stops_in_.lock().get());
  if (outcome.runtime_ended && ipc::is_collect_tracing(first.command()) && !tool_stopped &&
      request.agent_stopped()) {
    note_cut_off(first.command(), "the agent at " + sessions_.address() + " was stopped");
  }
  co_return Result<void>{};
}

void RuntimeConnections::log_lost_session() {
  if (size() == 0) return;
  ++services_.cut_off;
  services_.log->warn(
      "work of tools on {} (pid {}) was cut off: the session with {} did not come back within {:g} s",
      runtime_.name, runtime_.pid, sessions_.address(),
      std::chrono::duration<double>(services_.session.grace).count());
}

void RuntimeConnections::note_cut_off(ipc::Command command, const std::string& why) {
  ++services_.cut_off;
  services_.log->warn("{} on {} (pid {}) was cut off: {}; the tool's data is incomplete",
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
  // Only this command's answer has room for text.
  const bool has_text = command == ipc::kGenerateCoreDump3;
  // The agent's text stands by itself: such an error carries an HRESULT or a status.
  const Cause::Kind kind = why.cause.kind();
  const bool from_agent = kind == Cause::Kind::runtime || kind == Cause::Kind::http;
  const std::string text = from_agent ? why.why : why.message();
  const ipc::Bytes answer = ipc::encode_error(hresult, has_text ? text : std::string());
  const IoStatus written = co_await tool.write(answer);
  if (written == IoStatus::ok) std::ignore = co_await tool.finish();
}

namespace {

using transport::Milliseconds;

// The same pauses as in the runtime's own loop (DiagnosticServer's poll of connect ports).
constexpr Milliseconds kFirstRedial{10};
constexpr Milliseconds kLongestRedial{500};
constexpr Milliseconds kConnectLimit{2000};

/// Waits for the first byte of a command, without taking it. Returns false if the tool is gone.
Task<bool> command_comes(transport::FdStream& tool) {
  co_await tool.readable();
  char first = 0;
  const ssize_t seen = ::recv(tool.fd(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
  co_return seen == 1;
}

}  // namespace

Task<void> dial_listening_tool(transport::Loop& loop, std::string path, ipc::Advertise advertise,
                               std::function<void(std::unique_ptr<transport::FdStream>)> on_command) {
  const auto greeting = ipc::encode_advertise(advertise);
  for (Milliseconds pause = kFirstRedial;;) {
    bool served = false;
    auto tool = co_await transport::connect_unix(loop, path, kConnectLimit);
    if (tool) {
      const transport::IoStatus said = co_await (*tool)->write(greeting);
      if (said == transport::IoStatus::ok) served = co_await command_comes(**tool);
    }
    if (served) {
      on_command(std::move(*tool));
      pause = kFirstRedial;
      continue;
    }
    tool = tl::unexpected(Error{});
    co_await transport::sleep(loop, pause);
    pause = std::min(pause * 5 / 4 + Milliseconds{1}, kLongestRedial);
  }
}

namespace {

ProcessLook look_of(const Runtime& runtime, const std::string& socket_dir) {
  return {runtime.name, split_command_line(runtime.command_line), socket_dir};
}

/// Socket paths where stock tools look for a process.
std::vector<std::string> socket_paths(const std::string& directory, const Placeholder& placeholder) {
  const std::string suffix =
      std::to_string(placeholder.pid()) + "-" + std::to_string(placeholder.start_time()) + "-socket";
  return {directory + "/dotnet-diagnostic-" + suffix,
          // Made second: dotnet-gcdump ignores this socket if it is older than the plain one.
          directory + "/dotnet-diagnostic-dsrouter-" + suffix};
}

}  // namespace

bool has_room_for_sockets(const std::string& directory, std::size_t more) {
  // The largest pid of Linux, and a start time for the next thousand years.
  constexpr std::string_view kLongest = "/dotnet-diagnostic-dsrouter-4194304-3153600000000-socket";
  return directory.size() + more + kLongest.size() <= transport::kMaxUnixPath;
}

MirroredRuntime::MirroredRuntime(MirrorServices& services, Runtime runtime, SessionManager& sessions)
    : services_(services),
      runtime_(std::move(runtime)),
      connections_(services, runtime_, sessions),
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
                                                                      SessionManager& sessions,
                                                                      std::function<void()> on_lost) {
  auto mirrored = std::make_unique<MirroredRuntime>(services, std::move(runtime), sessions);
  const std::string& directory = services.files.directory();
  ProcessLook look = look_of(mirrored->runtime_, directory);
  CO_ASSIGN_OR_RETURN(auto placeholder, co_await Placeholder::start(services.loop, services.image,
                                                                    std::move(look), std::move(on_lost)));
  mirrored->placeholder_ = std::move(placeholder);
  std::vector<std::string> paths = socket_paths(directory, *mirrored->placeholder_);
  for (std::string& path : places.sockets) paths.push_back(std::move(path));
  for (std::string& path : paths) {
    CO_RETURN_IF_ERROR(mirrored->open_socket(std::move(path)));
  }
  for (const std::string& tool : places.tools) {
    CO_RETURN_IF_ERROR(mirrored->dial(tool));
  }
  co_return mirrored;
}

void MirroredRuntime::update(Runtime runtime) {
  runtime_ = std::move(runtime);
  placeholder_->change(look_of(runtime_, services_.files.directory()));
}

Result<void> MirroredRuntime::dial(const std::string& tool) {
  const auto cookie = Guid::parse(runtime_.id);
  if (!cookie) return fail("offer", runtime_.name, "the agent reports an invalid id for it");
  // The placeholder's pid, since a tool looks it up on its own host.
  const ipc::Advertise advertise{*cookie, static_cast<std::uint64_t>(local_pid())};
  acceptors_.spawn(dial_listening_tool(services_.loop, tool, advertise, [this](auto connection) {
    connections_.begin(std::move(connection));
  }));
  return {};
}

Result<void> MirroredRuntime::open_socket(std::string path) {
  RETURN_IF_ERROR(services_.files.add(path));
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
    connections_.begin(std::move(tool));
  }
}

}  // namespace farport::router
