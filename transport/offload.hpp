// Work on libuv's thread pool: for file reads and writes, and for what would hold up the loop otherwise.
#pragma once

#include <functional>
#include <optional>

#include "base/error.hpp"
#include "transport/event.hpp"
#include "transport/loop.hpp"

namespace farport::transport {

/// One piece of work, begun by the constructor. Destroying this before it is done leaves it to end by itself,
/// so whatever `work` uses must belong to it, by a shared_ptr for example. It must not throw.
class Offload {
 public:
  Offload(Loop& loop, std::function<void()> work);
  Offload(const Offload&) = delete;
  Offload& operator=(const Offload&) = delete;
  ~Offload();

  /// co_await work.done(): passes when it has ended.
  [[nodiscard]] Event::Wait done() { return done_.wait(); }

 private:
  struct Request;
  Event done_;
  Request* request_;  ///< Frees itself when the work has ended; nullptr from then on.
};

/// Work that may never end, such as reading what another process can hold up: a thread of its own.
/// Runs `work` on a new thread, and passes when it has ended. Neither cancelling this nor the end of the
/// program waits for the thread, so whatever `work` uses must belong to it, by a shared_ptr for example.
/// Errors: it has thrown an exception; it has not ended within `limit`, and may still be at it; or there are
/// no descriptors or no threads for it, and it has not begun.
Task<Result<void>> run_detached(Loop& loop, std::function<void()> work,
                                std::optional<Milliseconds> limit = {});

}  // namespace farport::transport
