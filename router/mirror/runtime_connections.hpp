// The diagnostic connections of one mirrored runtime: what tools ask is carried to the agent.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/log.hpp"
#include "router/mirror/dump_receiver.hpp"
#include "router/mirror/placeholder.hpp"
#include "router/sockets/socket_manifest.hpp"
#include "router/wire/session_options.hpp"
#include "transport/buffer_pool.hpp"
#include "transport/fd_stream.hpp"

namespace farport::router {

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

}  // namespace farport::router
