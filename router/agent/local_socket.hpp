// LocalSocket: where users of the agent's host connect without TLS. The kernel says who they are.
#pragma once

#include <memory>
#include <string>

#include <sys/stat.h>

#include "transport/socket.hpp"

namespace farport::router {

class LocalSocket {
 public:
  /// Makes a socket at `path`, in place of one that a dead agent of this user has left there. `for_all`:
  /// every user may connect; else ours alone. Errors: it can't be made.
  static Result<std::unique_ptr<LocalSocket>> create(transport::Loop& loop, const std::string& path,
                                                     bool for_all);

  LocalSocket(std::unique_ptr<transport::Listener> listener, std::string path);
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;
  /// Removes it, unless another file has its name by now.
  ~LocalSocket();

  [[nodiscard]] transport::Listener& listener() { return *listener_; }

 private:
  std::unique_ptr<transport::Listener> listener_;
  std::string path_;
  struct stat made_ {};
};

}  // namespace farport::router
