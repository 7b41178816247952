// MirrorDialler: for agents that nobody can dial. Dials a mirror that accepts agents, again and again.
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

/// Where a mirror accepts agents.
struct DialledMirror {
  std::string host;
  std::uint16_t port = 0;
  std::optional<Proxy> proxy{};  ///< On the way there.

  /// HOST:PORT.
  [[nodiscard]] std::string text() const { return authority(host, port); }
};

class MirrorDialler {
 public:
  /// Serves a connection until it has ended.
  using Serve = std::function<transport::Task<void>(std::unique_ptr<transport::FdStream>)>;

  /// `serving` runs what `serve` makes, and may outlive this.
  MirrorDialler(transport::Loop& loop, Log log, DialledMirror mirror, transport::TaskSet& serving,
                Serve serve);

  /// Keeps one connection with the mirror until it is cancelled; what is served then goes on.
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
  std::string failure_;  ///< The last one that was said.
};

}  // namespace farport::router
