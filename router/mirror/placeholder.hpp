// Placeholder: a small local process that stands for a remote runtime, for tools that list and check
// processes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "router/mirror/placeholder/image.hpp"
#include "transport/child_process.hpp"
#include "transport/event.hpp"

namespace farport::router {

/// How a process looks in tools and process lists.
struct ProcessLook {
  std::string name;               ///< The kernel keeps 15 bytes; the program's file is named after it.
  std::vector<std::string> argv;  ///< The command line, as split_command_line() gives it.
  std::string socket_dir;         ///< Its TMPDIR, where tools find its sockets.

  bool operator==(const ProcessLook&) const = default;
};

/// Its command line and name are the remote runtime's; its pid is what tools are given.
class Placeholder final : transport::TurnEndHook {
 public:
  /// Starts a placeholder; completes once the process has its look. Cancelling ends the process. `on_exit`:
  /// called once, from the loop, when the process ends by itself or is killed; it may destroy the
  /// placeholder. `loop` and `image` must outlive the placeholder.
  static transport::Task<Result<std::unique_ptr<Placeholder>>> start(transport::Loop& loop,
                                                                     PlaceholderImage& image,
                                                                     ProcessLook look,
                                                                     std::function<void()> on_exit);

  Placeholder(const Placeholder&) = delete;
  Placeholder& operator=(const Placeholder&) = delete;
  /// Kills the process, which the loop then reaps.
  ~Placeholder();

  /// Changes the process's look soon. It stays the same process, since its sockets are named after its pid
  /// and start time. If looks change faster than it can take them, the last one counts.
  void change(ProcessLook look);

  [[nodiscard]] pid_t pid() const { return process_->pid(); }
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
  ProcessLook look_;                   ///< The look that the process has or was sent last.
  std::optional<ProcessLook> wanted_;  ///< The look to send next.
  PlaceholderProgram program_;
  PlaceholderProgram next_program_;  ///< For a look that was sent but not taken yet.
  std::uint64_t start_time_ = 0;
  std::function<void()> on_exit_;  ///< Empty until the process is ready.

  transport::Event said_;  ///< The process has taken its look, or can't any more.
  bool ready_ = false;     ///< The process has the look that was sent last.
  char said_byte_ = 0;
  std::unique_ptr<transport::Process> process_;
  transport::OwnedHandle<uv_pipe_t> socket_;
};

/// Splits a command line, as a runtime reports it, at every single space, so that joining the parts with
/// spaces gives the same text. The original arguments can't be recovered, since the runtime has joined them.
[[nodiscard]] std::vector<std::string> split_command_line(std::string_view command_line);

}  // namespace farport::router
