#include "router/mirror/mirrored_runtime.hpp"

#include <algorithm>

#include <sys/socket.h>

#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

// As the runtime's own loop has them (DiagnosticServer's poll of connect ports).
constexpr Milliseconds kFirstRedial{10};
constexpr Milliseconds kLongestRedial{500};
constexpr Milliseconds kConnectLimit{2000};

/// Whether a command has begun to come; otherwise the tool is gone. Nothing is taken from the stream.
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

/// Where stock tools look for a process's socket.
std::vector<std::string> socket_paths(const std::string& directory, const Placeholder& placeholder) {
  const std::string suffix =
      std::to_string(placeholder.pid()) + "-" + std::to_string(placeholder.start_time()) + "-socket";
  return {directory + "/dotnet-diagnostic-" + suffix,
          // Second, since dotnet-gcdump ignores one that is older than the plain one.
          directory + "/dotnet-diagnostic-dsrouter-" + suffix};
}

}  // namespace

bool has_room_for_sockets(const std::string& directory, std::size_t more) {
  // The largest pid that Linux gives, and a start time for the next thousand years.
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
  auto placeholder =
      co_await Placeholder::start(services.loop, services.image, std::move(look), std::move(on_lost));
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

void MirroredRuntime::update(Runtime runtime) {
  runtime_ = std::move(runtime);
  placeholder_->change(look_of(runtime_, services_.files.directory()));
}

Result<void> MirroredRuntime::dial(const std::string& tool) {
  const auto cookie = Guid::parse(runtime_.id);
  if (!cookie) return fail("offer", runtime_.name, "the agent gives it no proper identity");
  // The placeholder's pid: a tool looks it up on its own host.
  const ipc::Advertise advertise{*cookie, static_cast<std::uint64_t>(local_pid())};
  acceptors_.spawn(dial_listening_tool(services_.loop, tool, advertise, [this](auto connection) {
    connections_.begin(std::move(connection));
  }));
  return {};
}

Result<void> MirroredRuntime::open_socket(std::string path) {
  Result<void> free = services_.files.add(path);
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
    connections_.begin(std::move(tool));
  }
}

}  // namespace farport::router
