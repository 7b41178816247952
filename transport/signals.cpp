#include "transport/signals.hpp"

#include <csignal>
#include <utility>

namespace farport::transport {

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

SignalWatch::SignalWatch(Loop& loop, std::initializer_list<int> signals, std::function<void(int)> on_signal)
    : on_signal_(std::move(on_signal)) {
  for (const int signal : signals) {
    auto* handle = new uv_signal_t;
    uv_signal_init(loop.uv(), handle);
    handle->data = this;
    handles_.emplace_back(handle);
    uv_signal_start(
        handle,
        [](uv_signal_t* raised, int number) { static_cast<SignalWatch*>(raised->data)->on_signal_(number); },
        signal);
  }
}

}  // namespace farport::transport
