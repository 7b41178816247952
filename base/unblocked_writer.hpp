// Writing lines to a descriptor that others read, without ever waiting for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace farport {

/// A reader that has stopped, such as a terminal after Ctrl-S or a pipe whose other end is stuck, must not
/// stop the process. What it doesn't take is lost, and counted. The descriptor stays blocking: others may
/// share it.
class UnblockedWriter {
 public:
  /// Whether what can't be written at once is waited for after all.
  enum class When : std::uint8_t { drop, wait };

  explicit UnblockedWriter(When full = When::drop) : full_(full) {}

  /// Writes whole lines. Returns 0, or the errno value of a write that failed; lines are lost then, too.
  int write(int fd, std::string_view lines);
  /// What is written next begins a file: nothing before it is to be ended.
  void start_over() { cut_ = false; }
  /// How many lines have been lost since the start.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  [[nodiscard]] bool takes_more(int fd) const;

  When full_;
  std::uint64_t lost_ = 0;
  bool cut_ = false;  ///< The last line that was written is not whole.
};

// Lines to the host's syslog, without ever waiting for it: syslog(3) waits for a daemon that has stopped.

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
