// What all mirrored runtimes of a mirror share.
#pragma once

#include <functional>

#include "base/log.hpp"
#include "router/mirror/placeholder.hpp"
#include "router/sockets/socket_manifest.hpp"
#include "router/wire/session_options.hpp"
#include "transport/buffer_pool.hpp"

namespace farport::router {

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

}  // namespace farport::router
