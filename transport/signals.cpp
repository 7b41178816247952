#include "transport/signals.hpp"

#include <utility>

namespace farport::transport {

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
