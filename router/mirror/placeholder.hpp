// Placeholder: a tiny local process that stands for a remote runtime. Stock tools list and check processes,
// so there has to be one: its command line and name are the remote's, its pid is what tools are given.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "router/mirror/placeholder/image.hpp"
#include "transport/event.hpp"

namespace farport::router {

class Placeholder final : transport::TurnEnd {
 public:
  /// Starts a placeholder, and completes once it stands there as it is to be seen. Cancelling it ends the
  /// process again.
  ///
  /// `name`: the process's name, of which the kernel keeps 15 bytes, and its program's file name. `argv`: its
  /// command line, as split_command_line() gives it. `socket_dir`: where its sockets are; tools find them
  /// there through the placeholder's TMPDIR. `on_exit`: called once, from the loop, when the process ends by
  /// itself (somebody killed it); it may destroy the placeholder. `loop` outlives the placeholder; `image` is
  /// only needed until this completes.
  static transport::Task<Result<std::unique_ptr<Placeholder>>> start(
      transport::Loop& loop, PlaceholderImage& image, std::string name, std::vector<std::string> argv,
      std::string socket_dir, std::function<void()> on_exit);

  Placeholder(const Placeholder&) = delete;
  Placeholder& operator=(const Placeholder&) = delete;
  /// Kills the process and waits for its end (microseconds): nothing of it is left, no zombie either.
  ~Placeholder();

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// When the process started, in clock ticks since boot (proc(5), field 22 of /proc/PID/stat): the key in
  /// the names of runtimes' sockets.
  [[nodiscard]] std::uint64_t start_time() const { return start_time_; }

 private:
  explicit Placeholder(transport::Loop& loop) : loop_(loop), said_(loop) {}

  Result<void> spawn(PlaceholderImage& image, const std::string& name, const std::vector<std::string>& argv,
                     const std::string& socket_dir);
  void listen();
  void turn_end() override;

  transport::Loop& loop_;
  PlaceholderProgram program_;
  pid_t pid_ = 0;
  bool alive_ = false;  ///< Started and not reaped yet.
  std::uint64_t start_time_ = 0;
  std::function<void()> on_exit_;  ///< Empty until the process is ready.

  transport::Event said_;  ///< The process has said that it is ready, or can't any more.
  bool ready_ = false;
  char said_byte_ = 0;
  transport::OwnedHandle<uv_process_t> process_;
  transport::OwnedHandle<uv_pipe_t> output_;
};

/// Splits a command line, as a runtime reports it, into arguments at every single space, so that joining them
/// with spaces gives the same text: which is all that can be had, since the runtime has joined them before.
[[nodiscard]] std::vector<std::string> split_command_line(std::string_view command_line);

}  // namespace farport::router
