// Blocking work on other threads: libuv's thread pool, or a thread of its own.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "transport/event.hpp"
#include "transport/loop.hpp"

namespace farport::transport {

/// One piece of work on libuv's thread pool, started by the constructor. `work` must not throw. Destroying
/// this does not stop the work, so `work` must own what it uses, by a shared_ptr for example.
class Offload {
 public:
  Offload(Loop& loop, std::function<void()> work);
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;
  ~Offload();

  /// co_await work.done(): passes when the work has ended.
  [[nodiscard]] Event::Wait done() { return done_.wait(); }

 private:
  struct Request;
  Event done_;
  Request* request_;  ///< Frees itself when the work has ended; nullptr from then on.
};

/// Runs `work` on the thread pool, and returns what it returns. It must own what it uses.
template <typename Made>
Task<Made> offloaded(Loop& loop, std::function<Made()> work) {
  const auto made = std::make_shared<std::optional<Made>>();
  Offload working(loop, [made, work = std::move(work)] { made->emplace(work()); });
  co_await working.done();
  co_return std::move(**made);
}

/// Runs `work` on a new thread and waits for its end. For work that may never end, such as reading what
/// another process can block. Neither cancelling this nor the end of the program waits for the thread, so
/// `work` must own what it uses. Errors: the work threw an exception; it exceeded `limit` and may still run;
/// or there were no descriptors or threads to start it.
Task<Result<void>> run_detached(Loop& loop, std::function<void()> work,
                                std::optional<Milliseconds> limit = {});

}  // namespace farport::transport
