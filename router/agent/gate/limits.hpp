// Limits: how much of the agent one identity, one session and all together may use. Plain counting: a
// caller that is refused is told which limit it was, and no other caller notices.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "auth/limit_settings.hpp"
#include "router/agent/gate/gate.hpp"
#include "transport/loop.hpp"
#include "transport/share.hpp"

namespace farport::router {

/// So many tokens a second, and at most a second's worth at once.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  TokenBucket(std::size_t per_second, Clock::time_point now)
      : rate_(static_cast<double>(per_second)), tokens_(rate_), filled_(now) {}

  /// Takes a token; false where there is none.
  bool take(Clock::time_point now);
  /// How long until there is a token; at least a millisecond.
  [[nodiscard]] transport::Milliseconds until_next(Clock::time_point now) const;
  /// Whether nobody has taken any for so long that a new bucket would be the same.
  [[nodiscard]] bool full(Clock::time_point now) const;

 private:
  [[nodiscard]] double tokens(Clock::time_point now) const;

  double rate_;
  double tokens_;
  Clock::time_point filled_;
};

/// A limit that was reached.
struct LimitExceeded {
  const auth::Limit* limit;        ///< Which; never null.
  std::string message{};           ///< What was too much, for a person.
  transport::Milliseconds wait{};  ///< After which it passes by itself; 0: it doesn't.
};

/// One of what is counted, for as long as it exists. May outlive the Limits.
class CountedSlot {
 public:
  CountedSlot() = default;
  explicit CountedSlot(std::shared_ptr<std::size_t> count) : count_(std::move(count)) { ++*count_; }
  CountedSlot(CountedSlot&& other) noexcept = default;
  CountedSlot& operator=(CountedSlot&& other) noexcept {
    std::swap(count_, other.count_);
    return *this;
  }
  CountedSlot(const CountedSlot&) = delete;
  CountedSlot& operator=(const CountedSlot&) = delete;
  ~CountedSlot() {
    if (count_) --*count_;
  }

 private:
  std::shared_ptr<std::size_t> count_;
};

class Limits {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = Clock::time_point (*)();

  /// `now` is handed in so that tests have a clock of their own.
  explicit Limits(transport::Loop& loop, auth::LimitSettings settings, Now now = &Clock::now);
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;

  class Session;
  /// A diagnostic connection's or a dump's place among the others.
  struct Connection {
    CountedSlot in_all;
    CountedSlot of_identity;
    CountedSlot of_session;
  };

  /// A place for a session. `key`: its identity_key().
  tl::expected<std::unique_ptr<Session>, LimitExceeded> begin_session(const std::string& key);

  [[nodiscard]] std::size_t sessions() const { return *sessions_; }
  [[nodiscard]] std::size_t connections() const { return *connections_; }

 private:
  /// What one identity uses. Shared with its sessions.
  struct IdentityUsage {
    IdentityUsage(transport::Loop& loop, std::size_t per_second, Clock::time_point now);
    std::shared_ptr<std::size_t> sessions = std::make_shared<std::size_t>(0);
    std::shared_ptr<std::size_t> connections = std::make_shared<std::size_t>(0);
    TokenBucket requests;
    TokenBucket refusals;  ///< What is refused costs something too.
    std::shared_ptr<transport::Share> share;
  };
  void forget_idle_parties();

  transport::Loop& loop_;
  auth::LimitSettings settings_;
  Now now_;
  std::shared_ptr<std::size_t> sessions_ = std::make_shared<std::size_t>(0);
  std::shared_ptr<std::size_t> connections_ = std::make_shared<std::size_t>(0);
  std::map<std::string, std::shared_ptr<IdentityUsage>> identities_;
  std::size_t look_at_ = 0;  ///< Idle ones are looked for once there are so many.
};

/// One session's share. Must not outlive the Limits; the Connections that it has given may.
class Limits::Session {
 public:
  Session(Limits& limits, std::shared_ptr<IdentityUsage> usage);

  /// Counts a request; what it says is the limit that it broke.
  [[nodiscard]] std::optional<LimitExceeded> count_request();
  [[nodiscard]] tl::expected<Connection, LimitExceeded> begin_connection();
  /// How long this identity may keep the loop busy.
  [[nodiscard]] const std::shared_ptr<transport::Share>& share() const { return usage_->share; }

 private:
  Limits& limits_;
  std::shared_ptr<IdentityUsage> usage_;
  CountedSlot in_all_;
  CountedSlot of_identity_;
  std::shared_ptr<std::size_t> connections_ = std::make_shared<std::size_t>(0);
};

/// Who shares limits: all sessions with the same names in their certificates, or without TLS all callers.
[[nodiscard]] std::string identity_key(const Caller& caller);

/// What the caller is told: 429 where its own share is used up, 503 where everybody's is.
[[nodiscard]] Refusal refusal_of(const LimitExceeded& exceeded);

}  // namespace farport::router
