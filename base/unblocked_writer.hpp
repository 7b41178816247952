// Writing lines to a descriptor that others read, without ever waiting for them.
#pragma once

#include <cstdint>
#include <string_view>

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

}  // namespace farport
