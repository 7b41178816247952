// Reach: a way to an agent that has no port, such as a command by ssh.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "transport/stream.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// A connection to `farport stdio`, after its greeting.
struct Reached {
  std::unique_ptr<transport::Stream> stream;
  /// Explains why the connection has ended, if more is known than the error says.
  std::function<std::string(const Error&)> explain;
};

/// What restarts an application that stops responding.
struct Restart {
  std::chrono::seconds after{};  ///< The shortest time until it does.
  std::string by{};              ///< "the liveness probe of web".
};

/// One run of the application's container.
struct ContainerRun {
  std::string id{};  ///< Another one after each start; empty if that is not known.
  bool running = true;
  std::string ended{};  ///< How it, or the one before it, has ended; empty if that is not known.
  bool operator==(const ContainerRun&) const = default;
};
/// "exit code 137, out of memory"
[[nodiscard]] std::string end_of_container(std::int64_t exit_code, bool out_of_memory);

class Reach;

/// What a person names: a target with one Reach behind it, or one for each pod of a deployment.
class ReachTarget {
 public:
  using Ways = std::vector<std::shared_ptr<const Reach>>;

  ReachTarget(const ReachTarget&) = delete;
  ReachTarget& operator=(const ReachTarget&) = delete;
  virtual ~ReachTarget() = default;

  /// The current ones. One that was there before has the same text(). Errors include a hint.
  [[nodiscard]] virtual transport::Task<Result<Ways>> find(transport::Loop& loop) const = 0;
  /// Whether the result of find() may change.
  [[nodiscard]] virtual bool changes() const = 0;
  /// The text by which a person names it.
  [[nodiscard]] const std::string& text() const { return text_; }

 protected:
  explicit ReachTarget(std::string text) : text_(std::move(text)) {}

 private:
  std::string text_;
};

/// A way to one agent, which is also a target that consists of it. It is always owned by a shared_ptr.
class Reach : public ReachTarget, public std::enable_shared_from_this<Reach> {
 public:
  /// Opens a connection. Errors say what failed there and include a hint.
  [[nodiscard]] virtual transport::Task<Result<Reached>> open(transport::Loop& loop, Log log) const = 0;
  /// What restarts the application there if it stops responding; empty if nothing does or it is not known.
  [[nodiscard]] virtual transport::Task<std::optional<Restart>> restart(transport::Loop& loop) const;

  /// The run of the application's container; nothing if there is none or it is not known.
  [[nodiscard]] virtual transport::Task<std::optional<ContainerRun>> container_run(
      transport::Loop& loop) const;

  [[nodiscard]] transport::Task<Result<Ways>> find(transport::Loop& loop) const final;
  [[nodiscard]] bool changes() const final { return false; }

 protected:
  using ReachTarget::ReachTarget;
};

/// Turns the error of one step into an error about the target `text`.
[[nodiscard]] tl::unexpected<Error> cannot_reach(std::string text, Error why);

}  // namespace farport::router
