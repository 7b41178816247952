// The terminal that controls this process, and its end.
#pragma once

#include <functional>
#include <optional>

#include "base/unique_fd.hpp"
#include "transport/timer.hpp"

namespace farport::cli {

/// SIGHUP has two meanings: from an administrator, to read the files again; from the kernel, that the
/// terminal has gone. A process that is started with SIGHUP ignored, as by nohup, outlives its terminal.
class TerminalWatch {
 public:
  /// Made at the start, before signals are watched: a confined process may not open the terminal any more.
  /// `on_gone` is called once.
  TerminalWatch(transport::Loop& loop, std::function<void()> on_gone);
  TerminalWatch(const TerminalWatch&) = delete;
  TerminalWatch& operator=(const TerminalWatch&) = delete;

  /// To be told of each SIGHUP. Looks a few times from then on: the signal may come before the terminal is
  /// taken away.
  void hung_up();

 private:
  void look_in(transport::Milliseconds pause);
  void looked_after(transport::Milliseconds pause);

  transport::Loop& loop_;
  std::function<void()> on_gone_;
  UniqueFd terminal_;
  std::optional<transport::Deadline> look_;
};

}  // namespace farport::cli
