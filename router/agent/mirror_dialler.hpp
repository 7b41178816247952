// MirrorDialler: dials a mirror that accepts agents, again and again, for an agent that nobody can dial.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/text.hpp"
#include "transport/happy_eyeballs.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// The address where a mirror accepts agents.
struct DialledMirror {
  std::string host;
  std::uint16_t port = 0;
  std::optional<Proxy> proxy{};  ///< The proxy on the way there, if any.

  /// The address as HOST:PORT.
  [[nodiscard]] std::string text() const { return authority(host, port); }
};

/// Keeps one connection to a mirror, and dials again with a backoff when it ends.
class MirrorDialler {
 public:
  /// Serves a connection until it ends.
  using Serve = std::function<transport::Task<void>(std::unique_ptr<transport::FdStream>)>;

  /// `serving` owns the tasks that `serve` makes, and may outlive this object.
  MirrorDialler(transport::Loop& loop, Log log, DialledMirror mirror, transport::TaskSet& serving,
                Serve serve);

  /// Dials until it is cancelled. A connection that is being served then goes on.
  transport::Task<void> run();

 private:
  transport::Task<Result<std::unique_ptr<transport::FdStream>>> dial();
  transport::Task<void> serve(std::unique_ptr<transport::FdStream> connection);
  void note_failure(Error why);

  transport::Loop& loop_;
  Log log_;
  DialledMirror mirror_;
  transport::TaskSet& serving_;
  Serve serve_;
  std::string failure_;  ///< The last failure that was logged.
};

}  // namespace farport::router
