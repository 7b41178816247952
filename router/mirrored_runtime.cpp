#include "router/mirrored_runtime.hpp"

#include <cerrno>

#include "ipc/error.hpp"
#include "router/gate.hpp"
#include "router/http_status.hpp"
#include "router/relay.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// Where stock tools look for a process's socket.
std::vector<std::string> socket_paths(const std::string& directory, const Placeholder& placeholder) {
  const std::string suffix =
      std::to_string(placeholder.pid()) + "-" + std::to_string(placeholder.start_time()) + "-socket";
  return {directory + "/dotnet-diagnostic-" + suffix,
          // Second, since dotnet-gcdump ignores one that is older than the plain one.
          directory + "/dotnet-diagnostic-dsrouter-" + suffix};
}

}  // namespace

MirroredRuntime::MirroredRuntime(MirrorServices& services, Runtime runtime, SessionSource session)
    : services_(services),
      runtime_(std::move(runtime)),
      session_(std::move(session)),
      connections_(services.loop),
      acceptors_(services.loop) {}

MirroredRuntime::~MirroredRuntime() {
  retire();
  connections_.clear();
}

void MirroredRuntime::retire() {
  acceptors_.clear();
  listeners_.clear();
  for (const std::string& path : paths_) services_.files.remove(path);
  placeholder_.reset();
}

Task<Result<std::unique_ptr<MirroredRuntime>>> MirroredRuntime::start(MirrorServices& services,
                                                                      Runtime runtime,
                                                                      std::vector<std::string> more_sockets,
                                                                      SessionSource session,
                                                                      std::function<void()> on_lost) {
  auto mirrored = std::make_unique<MirroredRuntime>(services, std::move(runtime), std::move(session));
  const Runtime& remote = mirrored->runtime_;
  const std::string& directory = services.files.directory();
  auto placeholder =
      co_await Placeholder::start(services.loop, services.image, remote.name,
                                  split_command_line(remote.command_line), directory, std::move(on_lost));
  if (!placeholder) co_return tl::unexpected(placeholder.error());
  mirrored->placeholder_ = std::move(*placeholder);
  std::vector<std::string> paths = socket_paths(directory, *mirrored->placeholder_);
  for (std::string& path : more_sockets) paths.push_back(std::move(path));
  for (std::string& path : paths) {
    const Result<void> opened = mirrored->open_socket(std::move(path));
    if (!opened) co_return tl::unexpected(opened.error());
  }
  co_return mirrored;
}

Result<void> MirroredRuntime::open_socket(std::string path) {
  remove_stale_socket(path);
  services_.files.add(path);
  auto listener = transport::Listener::unix_socket(services_.loop, path);
  if (!listener) return tl::unexpected(listener.error());
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
  const Result<void> joined = co_await join(*tool);
  if (!joined && joined.error().code != ECANCELED) {
    services_.log->warn("{} (pid {}): {}", runtime_.name, runtime_.pid, joined.error().message());
    co_await refuse(*tool, joined.error());
  }
  services_.on_change();
}

Task<Result<void>> MirroredRuntime::join(transport::FdStream& tool) {
  const auto first = co_await read_first_message(tool);
  // A tool that comes and goes without a whole command has nothing to be told.
  if (!first && first.error().code != EBADMSG) co_return Result<void>{};
  if (!first) co_return tl::unexpected(first.error());
  AgentSession* session = session_();
  if (session == nullptr)
    co_return fail("reach", "the agent", "the session is broken; it is being dialled again");
  const auto runtime = session->open(runtime_.id);
  if (runtime == nullptr)
    co_return fail("reach", session->address(), "the session takes no more connections");
  {
    Task<void> guard = abort_when_gone(tool, *runtime);
    guard.start();
    const IoStatus sent = co_await runtime->write(first->bytes);
    if (sent != IoStatus::ok) co_return tl::unexpected(runtime->error());
    const IoStatus answered = co_await runtime->head_received();
    if (answered != IoStatus::ok) co_return tl::unexpected(runtime->error());
  }
  if (runtime->head().status != http_status::kOk) {
    const auto refused = co_await read_answer(*runtime);
    if (!refused) co_return tl::unexpected(refused.error());
  }
  const RelayOutcome outcome = co_await relay(tool, *runtime, services_.buffers);
  services_.log->debug("{} on {}: {} bytes", ipc::describe(first->header.command()), runtime_.name,
                       outcome.to_tool);
  if (outcome.broken) services_.log->debug("broken off: {}", outcome.broken->message());
  co_return Result<void>{};
}

Task<void> MirroredRuntime::refuse(transport::Stream& tool, const Error& why) {
  const ipc::Bytes answer =
      ipc::encode_error(why.code == EBADMSG ? ipc::hresult::kBadEncoding : http_status::hresult_of(why.code));
  const IoStatus written = co_await tool.write(answer);
  if (written == IoStatus::ok) std::ignore = co_await tool.finish();
}

}  // namespace farport::router
