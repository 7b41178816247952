// Placeholder: a tiny local process that stands for a remote runtime. Stock tools list and check processes,
// so there has to be one: its command line and name are the remote's, its pid is what tools are given.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/mirror/placeholder/image.hpp"
#include "transport/event.hpp"

namespace farport::router {

/// What tools and lists of processes show of a process.
struct ProcessLook {
  std::string name;               ///< The kernel keeps 15 bytes of it; the program's file is named after it.
  std::vector<std::string> argv;  ///< The command line, as split_command_line() gives it.
  std::string socket_dir;         ///< Its TMPDIR: tools find its sockets there.

  bool operator==(const ProcessLook&) const = default;
};

class Placeholder final : transport::EndOfTick {
 public:
  /// Starts a placeholder, and completes once it stands there as it is to be seen. Cancelling it ends the
  /// process again.
  ///
  /// `on_exit`: called once, from the loop, when the process ends by itself or is killed; it may
  /// destroy the placeholder. `loop` and `image` outlive the placeholder.
  static transport::Task<Result<std::unique_ptr<Placeholder>>> start(transport::Loop& loop,
                                                                     PlaceholderImage& image,
                                                                     ProcessLook look,
                                                                     std::function<void()> on_exit);

  Placeholder(const Placeholder&) = delete;
  Placeholder& operator=(const Placeholder&) = delete;
  /// Kills the process, which the loop then reaps.
  ~Placeholder();

  /// Has the process look otherwise, soon. It stays the same process: its sockets are named after its pid and
  /// start time. Of looks that come faster than it takes them the last one counts.
  void change(ProcessLook look);

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// When the process started, in clock ticks since boot (proc(5), field 22 of /proc/PID/stat): the key in
  /// the names of runtimes' sockets.
  [[nodiscard]] std::uint64_t start_time() const { return start_time_; }

 private:
  Placeholder(transport::Loop& loop, PlaceholderImage& image, ProcessLook look)
      : loop_(loop), image_(image), look_(std::move(look)), said_(loop) {}

  Result<void> spawn();
  void send_look();
  void look_taken();
  void listen();
  void end_of_tick() override;

  transport::Loop& loop_;
  PlaceholderImage& image_;
  ProcessLook look_;                   ///< The process has it, or it was sent to it: one at a time.
  std::optional<ProcessLook> wanted_;  ///< That comes next.
  PlaceholderProgram program_;
  PlaceholderProgram next_program_;  ///< Of a look that has been sent.
  pid_t pid_ = 0;
  bool alive_ = false;  ///< Started and not reaped yet.
  std::uint64_t start_time_ = 0;
  std::function<void()> on_exit_;  ///< Empty until the process is ready.

  transport::Event said_;  ///< The process has said that it has its look, or can't any more.
  bool ready_ = false;     ///< The process has the look that was sent last.
  char said_byte_ = 0;
  transport::OwnedHandle<uv_process_t> process_;
  transport::OwnedHandle<uv_pipe_t> socket_;
};

/// Splits a command line, as a runtime reports it, into arguments at every single space, so that joining them
/// with spaces gives the same text: which is all that can be had, since the runtime has joined them before.
[[nodiscard]] std::vector<std::string> split_command_line(std::string_view command_line);

}  // namespace farport::router
