// Limits: how much of the agent one identity, one session and all callers together may use.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "auth/limit_settings.hpp"
#include "router/agent/gate/gate.hpp"
#include "transport/loop.hpp"
#include "transport/semaphore.hpp"
#include "transport/share.hpp"

namespace farport::router {

/// Refills with `per_second` tokens a second, and holds at most a second's worth.
class TokenBucket {
 public:
  using Clock = std::chrono::steady_clock;

  TokenBucket(std::size_t per_second, Clock::time_point now)
      : rate_(static_cast<double>(per_second)), tokens_(rate_), filled_(now) {}

  /// Takes a token. Returns false if there is none.
  bool take(Clock::time_point now);
  /// How long until there is a token, at least one millisecond.
  [[nodiscard]] transport::Milliseconds until_next(Clock::time_point now) const;
  /// Whether the bucket is full, and so the same as a new one.
  [[nodiscard]] bool full(Clock::time_point now) const;

 private:
  [[nodiscard]] double tokens(Clock::time_point now) const;

  double rate_;
  double tokens_;
  Clock::time_point filled_;
};

/// A limit that a caller has reached.
struct LimitExceeded {
  const auth::Limit* limit;        ///< Never null.
  std::string message{};           ///< Says what was too much, for a person.
  transport::Milliseconds wait{};  ///< How long until it passes; 0 if only the end of something else helps.
};

/// Counts one session or connection for as long as it exists. May outlive the Limits.
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

/// Places for work of a kind of which an agent does little at once. One identity may have half of them, so
/// that others find room. What the agent does for itself has as many of its own, which callers can't use up:
/// the runtimes of one user may have all of these but one.
class Places {
 public:
  /// `most`: how many there are. The other two complete "the agent takes 4 profiles already".
  Places(std::size_t most, const char* verb, const char* noun) : most_(most), verb_(verb), noun_(noun) {}

  struct Place {
    CountedSlot of_all;
    CountedSlot of_one;  ///< Of the identity, or of the user.
  };
  /// Takes a place for `caller`, for work at a runtime of this user. Errors: all that it may
  /// have are taken; why, for a person.
  [[nodiscard]] tl::expected<Place, std::string> take(const Caller& caller, uid_t user);

 private:
  [[nodiscard]] std::string full(std::size_t most, std::string_view whose) const;

  std::size_t most_;
  const char* verb_;
  const char* noun_;
  std::shared_ptr<std::size_t> taken_ = std::make_shared<std::size_t>(0);
  std::shared_ptr<std::size_t> taken_by_agent_ = std::make_shared<std::size_t>(0);
  std::map<uid_t, std::shared_ptr<std::size_t>> taken_for_;       ///< Of those, by the runtime's user.
  std::map<std::string, std::shared_ptr<std::size_t>> taken_by_;  ///< By identity_key().
};

/// What the answers to one identity take of the agent besides memory, which is counted where it is held.
struct AnswerAccount {
  /// Recordings at once. Each takes descriptors, and a session of its runtime, which has 64.
  static constexpr std::size_t kRecordings = 8;

  /// Of an identity, or of a part of the agent that does its own work.
  explicit AnswerAccount(transport::Loop& loop);

  transport::Share time;       ///< On the loop.
  transport::Semaphore files;  ///< Answers that are made of files at once; the next one waits.
  std::shared_ptr<std::size_t> recordings = std::make_shared<std::size_t>(0);
};

/// Counts what callers use. A caller that is refused is told which limit it reached.
class Limits {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = Clock::time_point (*)();

  /// Tests pass a clock of their own as `now`.
  explicit Limits(transport::Loop& loop, auth::LimitSettings settings, Now now = &Clock::now);
  Limits(const Limits&) = delete;
  Limits& operator=(const Limits&) = delete;

  class Session;
  /// The slots that one diagnostic connection or dump takes.
  struct Connection {
    CountedSlot in_all;
    CountedSlot of_identity;
    CountedSlot of_session;
  };

  /// Takes a slot for a session of the identity `key` (see identity_key()).
  tl::expected<std::unique_ptr<Session>, LimitExceeded> begin_session(const std::string& key);

  [[nodiscard]] std::size_t sessions() const { return *sessions_; }
  [[nodiscard]] std::size_t connections() const { return *connections_; }

 private:
  /// What one identity uses. Its sessions share it.
  struct IdentityUsage {
    IdentityUsage(transport::Loop& loop, std::size_t per_second, Clock::time_point now);
    std::shared_ptr<std::size_t> sessions = std::make_shared<std::size_t>(0);
    std::shared_ptr<std::size_t> connections = std::make_shared<std::size_t>(0);
    TokenBucket requests;
    TokenBucket refusals;  ///< Limits how often it is refused, since refusing costs time too.
    std::shared_ptr<AnswerAccount> account;
  };
  void forget_idle_parties();

  transport::Loop& loop_;
  auth::LimitSettings settings_;
  Now now_;
  std::shared_ptr<std::size_t> sessions_ = std::make_shared<std::size_t>(0);
  std::shared_ptr<std::size_t> connections_ = std::make_shared<std::size_t>(0);
  std::map<std::string, std::shared_ptr<IdentityUsage>> identities_;
  std::size_t look_at_ = 0;  ///< Look for idle identities once there are this many.
};

/// One session's part of the limits. Must not outlive the Limits; the Connections that it gives out may.
class Limits::Session {
 public:
  Session(Limits& limits, std::shared_ptr<IdentityUsage> usage);

  /// Counts a request. Returns the limit if the request exceeds one.
  [[nodiscard]] std::optional<LimitExceeded> count_request();
  [[nodiscard]] tl::expected<Connection, LimitExceeded> begin_connection();
  /// The identity's.
  [[nodiscard]] AnswerAccount& account() const { return *usage_->account; }
  /// The identity's share of the loop's time, which may outlive this.
  [[nodiscard]] std::shared_ptr<transport::Share> share() const {
    return {usage_->account, &usage_->account->time};
  }

 private:
  Limits& limits_;
  std::shared_ptr<IdentityUsage> usage_;
  CountedSlot in_all_;
  CountedSlot of_identity_;
  std::shared_ptr<std::size_t> connections_ = std::make_shared<std::size_t>(0);
};

/// What to tell the caller: status 429 if its own share is used up, 503 if the agent's is.
[[nodiscard]] Refusal refusal_of(const LimitExceeded& exceeded);

}  // namespace farport::router
