// Where samples go: a pipe whose reader may be slow.
#pragma once

#include <string>
#include <string_view>

namespace farport::router {

class SampleOutput {
 public:
  /// `fd`: does not block. `most`: bytes that may wait.
  SampleOutput(int fd, std::size_t most) : fd_(fd), most_(most) {}

  /// Takes bytes, and writes what may be written now.
  void write(std::string_view bytes);
  /// Writes all that waits, for as long as there is somebody to read it.
  void finish();

  [[nodiscard]] int fd() const { return fd_; }
  /// Nobody reads it any more.
  [[nodiscard]] bool broken() const { return broken_; }
  /// There is so much that waits that no more samples should be added.
  [[nodiscard]] bool full() const;
  [[nodiscard]] bool waits() const { return !pending_.empty(); }

 private:
  void write_pending();

  int fd_;
  std::size_t most_;
  std::string pending_;
  bool broken_ = false;
};

}  // namespace farport::router
