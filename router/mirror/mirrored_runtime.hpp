// A remote runtime made to look local: a placeholder process, and sockets that are named after it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "ipc/message.hpp"
#include "router/mirror/dump_receiver.hpp"
#include "router/mirror/placeholder.hpp"
#include "router/sockets/socket_manifest.hpp"
#include "router/wire/session_options.hpp"
#include "transport/buffer_pool.hpp"
#include "transport/fd_stream.hpp"
#include "transport/socket.hpp"

namespace farport::router {

// The diagnostic connections of one mirrored runtime: what tools ask is carried to the agent.

// What all mirrored runtimes of a mirror share.

class RemoteAgents;

struct MirrorServices {
  transport::Loop& loop;
  Log log;
  SocketManifest& files;
  transport::BufferPool& buffers;
  PlaceholderImage& image;
  ClientOptions session;
  std::function<void()> on_change;  ///< Something that a person would want to see is different now.
  /// Whether an agent (AgentSession::agent()) is followed under another name than this one, with the same
  /// choice.
  std::function<bool(const RemoteAgents&, const std::string& agent)> is_followed_elsewhere;
  std::uint64_t cut_off = 0;  ///< Connections so far that ended before either of their ends ended them.
  std::size_t runtimes = 0;   ///< Mirrored now, of all agents.
};

class RuntimeConnections {
 public:
  /// `runtime` must stay as long; what it says may change.
  RuntimeConnections(MirrorServices& services, const Runtime& runtime, SessionManager& sessions)
      : services_(services), runtime_(runtime), sessions_(sessions), tasks_(services.loop) {}
  RuntimeConnections(const RuntimeConnections&) = delete;
  RuntimeConnections& operator=(const RuntimeConnections&) = delete;

  /// Carries a tool's connection to its end.
  void begin(std::unique_ptr<transport::FdStream> tool) { tasks_.spawn(carry(std::move(tool))); }
  /// How many there are.
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  /// Passes when there is none any more.
  transport::Task<void> idle() { return tasks_.idle(); }
  void clear() { tasks_.clear(); }
  /// Says that those that are open are cut off, since the session did not come back in time.
  void note_lost_session();
  /// How far the dump is that a tool is waiting for; nothing where none is.
  [[nodiscard]] const std::optional<DumpProgress>& dump() const { return dump_; }

 private:
  transport::Task<void> carry(std::unique_ptr<transport::FdStream> tool);
  transport::Task<Result<void>> join(transport::FdStream& tool, std::optional<FirstMessage>& first);
  transport::Task<Result<void>> join_runtime(transport::FdStream& tool, FirstMessage first);
  transport::Task<Result<void>> take_dump(transport::FdStream& tool, FirstMessage first);
  transport::Task<void> refuse(transport::Stream& tool, Error why, ipc::Command command);
  void show_dump(const DumpProgress& progress);
  void note_cut_off(ipc::Command command, const std::string& why);

  MirrorServices& services_;
  const Runtime& runtime_;
  SessionManager& sessions_;
  std::optional<DumpProgress> dump_;
  std::uint64_t stops_ = 0;           ///< StopTracing commands so far.
  std::uint64_t dump_logged_ms_ = 0;  ///< When its progress was logged last.
  transport::TaskSet tasks_;
};

/// A tool that listens: it expects runtimes to dial it, and a mirrored runtime does.
/// Dials the Unix socket at `path` as a runtime does (connect-mode diagnostic port): sends the advertise,
/// keeps the connection until a command comes, gives it to `on_command`, and dials again at once. Waits where
/// nobody listens. Never ends by itself.
transport::Task<void> dial_listening_tool(
    transport::Loop& loop, std::string path, ipc::Advertise advertise,
    std::function<void(std::unique_ptr<transport::FdStream>)> on_command);

/// Whether sockets of runtimes can have their paths in `directory` (once `more` bytes are added to its name):
/// Linux takes 107 bytes.
[[nodiscard]] bool has_room_for_sockets(const std::string& directory, std::size_t more = 0);

class MirroredRuntime {
 public:
  /// Where a runtime is offered beside the usual sockets.
  struct Places {
    std::vector<std::string> sockets;  ///< Sockets to listen on.
    std::vector<std::string> tools;    ///< Sockets of tools that listen.
  };

  /// Starts the placeholder and opens the sockets in the services' directory. `on_lost`: called once if
  /// the placeholder is ended; it may destroy the object.
  static transport::Task<Result<std::unique_ptr<MirroredRuntime>>> start(MirrorServices& services,
                                                                         Runtime runtime, Places places,
                                                                         SessionManager& sessions,
                                                                         std::function<void()> on_lost);

  MirroredRuntime(MirrorServices& services, Runtime runtime, SessionManager& sessions);
  MirroredRuntime(const MirroredRuntime&) = delete;
  MirroredRuntime& operator=(const MirroredRuntime&) = delete;
  /// Ends connections and the placeholder, removes the sockets.
  ~MirroredRuntime();

  [[nodiscard]] const Runtime& runtime() const { return runtime_; }
  /// What is known of the runtime now. A suspended one has no arguments before it runs, nor its own name.
  void update(Runtime runtime);
  /// The placeholder's: what tools know the runtime by.
  [[nodiscard]] pid_t local_pid() const { return placeholder_ == nullptr ? 0 : placeholder_->pid(); }
  [[nodiscard]] const std::string& socket() const { return paths_.front(); }
  /// Has a tool that listens at `tool` dialled, as the runtime would dial it, for as long as this is
  /// mirrored.
  Result<void> dial(const std::string& tool);
  /// Takes the placeholder and the sockets away. Connections that are open go on to their own end: what the
  /// runtime said last may still be on its way.
  void retire();
  /// Says that the connections that are open are cut off, since the session did not come back in time.
  void note_lost_session() { connections_.note_lost_session(); }
  /// Passes when no connection is open any more.
  transport::Task<void> idle() { return connections_.idle(); }
  /// Diagnostic connections that are open now.
  [[nodiscard]] std::size_t active() const { return connections_.size(); }
  /// How far the dump is that a tool is waiting for; nothing where none is.
  [[nodiscard]] const std::optional<DumpProgress>& dump() const { return connections_.dump(); }

 private:
  Result<void> open_socket(std::string path);
  transport::Task<void> accept(transport::Listener& listener);

  MirrorServices& services_;
  Runtime runtime_;
  std::unique_ptr<Placeholder> placeholder_;
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  RuntimeConnections connections_;
  transport::TaskSet acceptors_;
};

}  // namespace farport::router
