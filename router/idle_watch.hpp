// IdleWatch: notices a session that nobody uses.
#pragma once

#include <functional>
#include <optional>

#include "transport/timer.hpp"

namespace farport::router {

/// Calls `on_idle` once nothing has been in use for `limit`; 0 is never.
class IdleWatch {
 public:
  IdleWatch(transport::Loop& loop, transport::Milliseconds limit, std::function<void()> on_idle)
      : loop_(loop), limit_(limit), on_idle_(std::move(on_idle)) {
    rest();
  }
  IdleWatch(const IdleWatch&) = delete;
  IdleWatch& operator=(const IdleWatch&) = delete;

  /// One use, for as long as it exists. Must not outlive the IdleWatch.
  class Use {
   public:
    explicit Use(IdleWatch& watch) : watch_(watch) {
      if (watch_.uses_++ == 0) watch_.deadline_.reset();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() {
      if (--watch_.uses_ == 0) watch_.rest();
    }

   private:
    IdleWatch& watch_;
  };

 private:
  void rest() {
    if (limit_.count() > 0) deadline_.emplace(loop_, limit_, on_idle_);
  }

  transport::Loop& loop_;
  transport::Milliseconds limit_;
  std::function<void()> on_idle_;
  std::size_t uses_ = 0;
  std::optional<transport::Deadline> deadline_;
};

}  // namespace farport::router
