// IdleWatch: notices a session that nobody uses.
#pragma once

#include <functional>

#include "transport/timer.hpp"

namespace farport::router {

/// Calls `on_idle` once nothing has been in use for `limit`, and again after that time for as long as it
/// returns false; a limit of 0 is never.
class IdleWatch final : private transport::Timer {
 public:
  IdleWatch(transport::Loop& loop, transport::Milliseconds limit, std::function<bool()> on_idle)
      : Timer(loop), limit_(limit), on_idle_(std::move(on_idle)) {
    rest();
  }
  ~IdleWatch() = default;

  /// One use, for as long as it exists. Must not outlive the IdleWatch.
  class Use {
   public:
    explicit Use(IdleWatch& watch) : watch_(watch) {
      if (watch_.uses_++ == 0) watch_.stop();
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
    if (limit_.count() > 0) start(limit_);
  }
  void on_time() override {
    if (!on_idle_()) rest();
  }

  transport::Milliseconds limit_;
  std::function<bool()> on_idle_;
  std::size_t uses_ = 0;
};

}  // namespace farport::router
