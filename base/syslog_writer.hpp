// Lines to the host's syslog, without ever waiting for it: syslog(3) waits for a daemon that has stopped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace farport {

class SyslogWriter {
 public:
  /// `program`: what the lines are marked with. `socket`: where the daemon receives them.
  explicit SyslogWriter(std::string program, std::string socket = "/dev/log")
      : program_(std::move(program)), socket_(std::move(socket)) {}

  /// Sends one line in the form of RFC 3164, as syslog(3) does. `priority`: facility and severity. Returns 0,
  /// or the errno value that says why the line is lost: EAGAIN where the daemon takes no more.
  int write(int priority, std::string_view line);
  /// How many lines have been lost since the start.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  int connect();
  int connect(int type);
  int send(std::string_view message);

  std::string program_;
  std::string socket_;
  UniqueFd connection_;
  bool is_stream_ = false;  ///< Messages end with a NUL byte then.
  std::uint64_t lost_ = 0;
};

}  // namespace farport
