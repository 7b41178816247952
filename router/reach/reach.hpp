// Reach: a way to an agent that has no port, such as ssh.
#pragma once

#include <chrono>
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
  /// Why it has ended, as far as more is known than its error says.
  std::function<std::string(const Error&)> explain;
};

/// What restarts an application that stands still.
struct Restart {
  std::chrono::seconds after{};  ///< At the earliest.
  std::string by{};              ///< "the liveness probe of web".
};

class Reach {
 public:
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;
  virtual ~Reach() = default;

  /// Opens a connection. Errors say what failed there, and what to do.
  [[nodiscard]] virtual transport::Task<Result<Reached>> open(transport::Loop& loop, Log log) const = 0;
  /// What restarts the application there if it stands still; nothing where nothing does, or it is not known.
  [[nodiscard]] virtual transport::Task<std::optional<Restart>> restart(transport::Loop& loop) const;
  /// What a person calls it.
  [[nodiscard]] const std::string& text() const { return text_; }

 protected:
  explicit Reach(std::string text) : text_(std::move(text)) {}

 private:
  std::string text_;
};

/// ReachTarget: what a person names, behind which there are such ways: one, or a deployment's pods.
class ReachTarget {
 public:
  using Ways = std::vector<std::shared_ptr<const Reach>>;

  ReachTarget(const ReachTarget&) = delete;
  ReachTarget& operator=(const ReachTarget&) = delete;
  virtual ~ReachTarget() = default;

  /// Those that there are now; one that was there before has the same text(). Errors say what to do.
  [[nodiscard]] virtual transport::Task<Result<Ways>> find(transport::Loop& loop) const = 0;
  /// Whether they come and go.
  [[nodiscard]] virtual bool changes() const = 0;
  /// What a person calls it.
  [[nodiscard]] const std::string& text() const { return text_; }

 protected:
  explicit ReachTarget(std::string text) : text_(std::move(text)) {}

 private:
  std::string text_;
};

/// Why the target `text` can't be reached, where `why` says it of a step on the way.
[[nodiscard]] tl::unexpected<Error> cannot_reach(std::string text, Error why);

/// A target that is this way and no other.
[[nodiscard]] std::shared_ptr<const ReachTarget> single_way(std::shared_ptr<const Reach> way);

}  // namespace farport::router
