// Followers: who is told of changes of the artifacts, and who was cut off from that.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "router/agent/gate/gate.hpp"
#include "transport/event.hpp"

namespace farport::router {

/// Callers whose session broke while they followed the artifacts: a laptop that was suspended, a link that
/// was cut. They mean to go on, so an agent that stops waits for those who were there a moment ago.
class Followers {
 public:
  using Clock = std::chrono::system_clock;
  struct Absent {
    std::string name;  ///< For people.
    Clock::time_point since;
  };

  explicit Followers(transport::Loop& loop) : back_(loop) {}

  /// The caller follows for as long as this object lives. `followers` must outlive it.
  class Following {
   public:
    Following(Followers& followers, const Caller& caller);
    ~Following();
    Following(const Following&) = delete;
    Following& operator=(const Following&) = delete;

   private:
    Followers& followers_;
    std::string key_;
  };

  /// A session in which the caller has followed has broken. Nothing happens if the caller follows in another
  /// one already.
  void cut_off(const Caller& caller, Clock::time_point now = Clock::now());
  /// Forgets those who were cut off before `since`.
  void forget_before(Clock::time_point since);

  /// Whether the caller is one of those who were cut off.
  [[nodiscard]] bool lack(const Caller& caller) const { return absent_.contains(identity_key(caller)); }
  [[nodiscard]] std::vector<Absent> absent() const;
  /// Waits until all of them are back.
  transport::Task<void> all_back();

  /// Of more, those who were cut off first are forgotten.
  static constexpr std::size_t kMostAbsent = 100;

 private:
  std::map<std::string, std::size_t> following_;  ///< How often, by identity_key().
  std::map<std::string, Absent> absent_;          ///< By identity_key().
  transport::Condition back_;
};

}  // namespace farport::router
