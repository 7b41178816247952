// LocalSocket: where users of the agent's host connect without TLS; the kernel says who they are.
#pragma once

#include <memory>
#include <string>

#include <sys/stat.h>

#include "transport/socket.hpp"

namespace farport::router {

class LocalSocket {
 public:
  /// Makes a socket at `path`, and replaces one that a dead agent of this user has left there. If `for_all`,
  /// every user may connect, otherwise only this one. Errors: the socket can't be made.
  static Result<std::unique_ptr<LocalSocket>> create(transport::Loop& loop, const std::string& path,
                                                     bool for_all);

  LocalSocket(std::unique_ptr<transport::Listener> listener, std::string path);
  LocalSocket(const LocalSocket&) = delete;
  LocalSocket& operator=(const LocalSocket&) = delete;
  /// Removes the socket, unless its name belongs to another file by now.
  ~LocalSocket();

  [[nodiscard]] transport::Listener& listener() { return *listener_; }

 private:
  std::unique_ptr<transport::Listener> listener_;
  std::string path_;
  struct stat made_ {};
};

}  // namespace farport::router
