// Work on libuv's thread pool: for file reads and writes, and for what would hold up the loop otherwise.
#pragma once

#include <functional>

#include "transport/event.hpp"

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

}  // namespace farport::transport
