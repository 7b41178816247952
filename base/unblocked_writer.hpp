// UnblockedWriter, SyslogWriter: write lines for other processes without ever waiting for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.hpp"

namespace farport {

/// Writes lines to a descriptor without waiting. A reader that has stopped, such as a terminal after Ctrl-S
/// or a stuck pipe, must not stop this process; lines that it doesn't take are dropped and counted. The
/// descriptor stays blocking, since others may share it.
class UnblockedWriter {
 public:
  /// What to do if a line can't be written at once.
  enum class When : std::uint8_t { drop, wait };

  explicit UnblockedWriter(When full = When::drop) : full_(full) {}

  /// Writes whole lines. Returns 0, or the errno value of a failed write; lines are lost then, too.
  int write(int fd, std::string_view lines);
  /// The next line begins a new file, so there is no cut-off line to end.
  void start_over() { cut_ = false; }
  /// Lines lost so far.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  [[nodiscard]] bool takes_more(int fd) const;

  When full_;
  std::uint64_t lost_ = 0;
  bool cut_ = false;  ///< The last written line is incomplete.
};

/// Writes lines to the host's syslog without ever waiting for it, unlike syslog(3).

class SyslogWriter {
 public:
  /// `program`: the name in each line. `socket`: where the daemon receives lines.
  explicit SyslogWriter(std::string program, std::string socket = "/dev/log")
      : program_(std::move(program)), socket_(std::move(socket)) {}

  /// Sends one line in the form of RFC 3164, as syslog(3) does. `priority`: facility and severity. Returns 0,
  /// or the errno value if the line is lost: EAGAIN if the daemon takes no more.
  int write(int priority, std::string_view line);
  /// Lines lost so far.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  int connect();
  int connect(int type);
  int send(std::string_view message);

  std::string program_;
  std::string socket_;
  UniqueFd connection_;
  bool is_stream_ = false;  ///< Messages then end with a NUL byte.
  std::uint64_t lost_ = 0;
};

}  // namespace farport
