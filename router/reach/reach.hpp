// Reach: a way to an agent that has no port, such as ssh.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// A connection to `farport stdio`, after its greeting.
struct Reached {
  std::unique_ptr<transport::Stream> stream;
  /// Why it has ended, as far as more is known than its error says.
  std::function<std::string(const Error&)> explain;
};

class Reach {
 public:
  Reach(const Reach&) = delete;
  Reach& operator=(const Reach&) = delete;
  virtual ~Reach() = default;

  /// Opens a connection. Errors say what failed there, and what to do.
  [[nodiscard]] virtual transport::Task<Result<Reached>> open(transport::Loop& loop, Log log) const = 0;
  /// What a person calls it.
  [[nodiscard]] const std::string& text() const { return text_; }

 protected:
  explicit Reach(std::string text) : text_(std::move(text)) {}

 private:
  std::string text_;
};

/// "ssh://[USER@]HOST[:PORT]". Errors: it has another form.
[[nodiscard]] Result<std::shared_ptr<const Reach>> reach_of(const std::string& text);

/// By a command that `exec` of /bin/sh takes (ssh_config(5), ProxyCommand), and that runs `farport stdio` in
/// the end.
[[nodiscard]] std::shared_ptr<const Reach> reach_by_shell(const std::string& command);

}  // namespace farport::router
