// MirroredRuntime: a remote runtime made to look local, by a placeholder process and sockets named after it.
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

class RemoteAgents;

/// What all mirrored runtimes of a mirror share.
struct MirrorServices {
  transport::Loop& loop;
  Log log;
  SocketManifest& files;
  transport::BufferPool& buffers;
  PlaceholderImage& image;
  ClientOptions session;
  std::function<void()> on_change;  ///< Called when something that people watch has changed.
  /// Whether an agent (AgentSession::agent()) is followed under another name than this one with the same
  /// choice.
  std::function<bool(const RemoteAgents&, const std::string& agent)> is_followed_elsewhere;
  std::uint64_t cut_off = 0;  ///< Connections so far that were cut off from outside.
  std::size_t runtimes = 0;   ///< Mirrored now, of all agents.
};

/// The diagnostic connections of one mirrored runtime: carries tools' commands to the agent.
class RuntimeConnections {
 public:
  /// `runtime` must outlive this; its contents may change.
  RuntimeConnections(MirrorServices& services, const Runtime& runtime, SessionManager& sessions)
      : services_(services), runtime_(runtime), sessions_(sessions), tasks_(services.loop) {}
  RuntimeConnections(const RuntimeConnections&) = delete;
  RuntimeConnections& operator=(const RuntimeConnections&) = delete;

  /// Carries a tool's connection to its end.
  void begin(std::unique_ptr<transport::FdStream> tool) { tasks_.spawn(carry(std::move(tool))); }
  /// The number of open connections.
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  /// Waits until no connection is open.
  transport::Task<void> idle() { return tasks_.idle(); }
  void clear() { tasks_.clear(); }
  /// Logs open connections as cut off, since the session did not come back in time.
  void log_lost_session();
  /// Progress of the dump that a tool waits for; empty if there is none.
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
  std::uint64_t stops_ = 0;               ///< StopTracing commands so far.
  std::weak_ptr<AgentSession> stops_in_;  ///< The session in use when the last of them came.
  std::uint64_t dump_logged_ms_ = 0;      ///< When its progress was last logged.
  transport::TaskSet tasks_;
};

/// Dials a listening tool's Unix socket at `path` as a runtime does (connect-mode diagnostic port): sends the
/// advertise, keeps the connection until a command comes, passes it to `on_command`, and dials again at once.
/// While nobody listens it retries. Runs until it is cancelled.
transport::Task<void> dial_listening_tool(
    transport::Loop& loop, std::string path, ipc::Advertise advertise,
    std::function<void(std::unique_ptr<transport::FdStream>)> on_command);

/// Whether sockets of runtimes fit into `directory` (with `more` bytes added to its name): Linux limits a
/// path to 107 bytes.
[[nodiscard]] bool has_room_for_sockets(const std::string& directory, std::size_t more = 0);

class MirroredRuntime {
 public:
  /// Where a runtime is offered in addition to the usual sockets.
  struct Places {
    std::vector<std::string> sockets;  ///< Sockets to listen on.
    std::vector<std::string> tools;    ///< Sockets of tools that listen.
  };

  /// Starts the placeholder and opens the sockets in the services' directory. `on_lost`: called once if the
  /// placeholder process ends; it may destroy the object.
  static transport::Task<Result<std::unique_ptr<MirroredRuntime>>> start(MirrorServices& services,
                                                                         Runtime runtime, Places places,
                                                                         SessionManager& sessions,
                                                                         std::function<void()> on_lost);

  MirroredRuntime(MirrorServices& services, Runtime runtime, SessionManager& sessions);
  MirroredRuntime(const MirroredRuntime&) = delete;
  MirroredRuntime& operator=(const MirroredRuntime&) = delete;
  /// Ends connections and the placeholder, and removes the sockets.
  ~MirroredRuntime();

  [[nodiscard]] const Runtime& runtime() const { return runtime_; }
  /// Updates what is known of the runtime. A suspended one has neither arguments nor its own name before it
  /// runs.
  void update(Runtime runtime);
  /// The placeholder's pid, by which tools know the runtime.
  [[nodiscard]] pid_t local_pid() const { return placeholder_ == nullptr ? 0 : placeholder_->pid(); }
  [[nodiscard]] const std::string& socket() const { return paths_.front(); }
  /// Dials a tool that listens at `tool`, as the runtime would, for as long as this is mirrored.
  Result<void> dial(const std::string& tool);
  /// Removes the placeholder and the sockets. Open connections continue to their own end, since the runtime's
  /// last bytes may still be in flight.
  void retire();
  /// Logs open connections as cut off, since the session did not come back in time.
  void log_lost_session() { connections_.log_lost_session(); }
  /// Waits until no connection is open.
  transport::Task<void> idle() { return connections_.idle(); }
  /// The number of open diagnostic connections.
  [[nodiscard]] std::size_t active() const { return connections_.size(); }
  /// Progress of the dump that a tool waits for; empty if there is none.
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
