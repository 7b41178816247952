// Unix signals on the loop.
#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include "transport/loop.hpp"

namespace farport::transport {

/// Whether this process ignores a signal: it was started so, as nohup and shells without job control do.
[[nodiscard]] bool is_ignored(int signal);

/// Calls `on_signal` with the signal's number, from the loop, for as long as it lives.
class SignalWatch {
 public:
  SignalWatch(Loop& loop, std::initializer_list<int> signals, std::function<void(int)> on_signal);
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  std::function<void(int)> on_signal_;
  std::vector<OwnedHandle<uv_signal_t>> handles_;
};

}  // namespace farport::transport
