// Parties: those that this process works for, such as identities or agents, and what each may take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "transport/loop.hpp"
#include "transport/share.hpp"

namespace farport::transport {

// BufferBudget: how much memory peers may make this process hold, all together: what has come before anybody
// took it, what has been sent and may have to be sent again, answers that nobody reads, frames that wait, and
// what each session and stream costs by itself.

/// Flow control bounds what one stream keeps, and the number of streams is bounded too; but their product is
/// more than a host has. Beyond the budget, the largest holding in the account that keeps most goes, until
/// there is room: a peer that takes what is sent to it keeps little.
class BufferBudget {
 public:
  explicit BufferBudget(std::uint64_t limit) : limit_(limit), least_(limit / 4) {}
  BufferBudget(const BufferBudget&) = delete;
  BufferBudget& operator=(const BufferBudget&) = delete;

  /// One identity's. Outlives its Holdings; must not outlive the budget.
  class Account final : private ListNode {
   public:
    explicit Account(BufferBudget& budget) : budget_(budget) {
      budget.accounts_.push(*this);
      ++budget.account_count_;
    }
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;
    ~Account() { --budget_.account_count_; }

   private:
    friend class BufferBudget;
    BufferBudget& budget_;
    std::uint64_t bytes_ = 0;
    std::uint64_t holding_count_ = 0;
    NodeList holdings_;
  };

  /// One session's or one stream's.
  class Holding final : private ListNode {
   public:
    /// `give_up` is called where this one has to go: it lets go of the bytes and destroys the Holding.
    Holding(Account& account, std::function<void()> give_up);
    Holding(const Holding&) = delete;
    Holding& operator=(const Holding&) = delete;
    ~Holding();
    /// What is kept now, in bytes. May end in `give_up` being called, of this one or of others.
    void update(std::uint64_t bytes);
    /// How much this one may keep and be sure that the budget holds: everything while half of the budget is
    /// free, then its even part of the other half. Who would keep more can wait until it keeps less.
    [[nodiscard]] std::uint64_t even_part() const;

   private:
    friend class BufferBudget;
    void count(std::uint64_t bytes);

    Account& account_;
    std::function<void()> give_up_;
    std::uint64_t bytes_ = 0;
  };

  class LateHolding;

  /// What this process keeps for itself now: peers have so much less, a quarter of the limit at the least.
  void set_own(std::uint64_t bytes) { own_ = bytes; }

  /// The account of this owner, which exists for as long as it is used.
  [[nodiscard]] std::shared_ptr<Account> account_of(const std::string& owner);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// How many Holdings had to go.
  [[nodiscard]] std::uint64_t given_up() const { return given_up_; }

 private:
  bool make_room();
  [[nodiscard]] Account* worst_account();

  /// For peers.
  [[nodiscard]] std::uint64_t limit() const { return std::max(limit_ - std::min(own_, limit_), least_); }

  std::uint64_t limit_;
  std::uint64_t least_;
  std::uint64_t own_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t given_up_ = 0;
  std::uint64_t account_count_ = 0;
  NodeList accounts_;
  std::map<std::string, std::weak_ptr<Account>> owners_;
};

/// A Holding of who rarely has anything to count: it and its account are there once there is something. When
/// it has to go nothing more is counted, so that `give_up` need not be done with the bytes at once.
class BufferBudget::LateHolding {
 public:
  using AccountOf = std::function<std::shared_ptr<Account>()>;

  /// `give_up` may destroy this one.
  LateHolding(AccountOf account_of, std::function<void()> give_up)
      : account_of_(std::move(account_of)), give_up_(std::move(give_up)) {}
  LateHolding(const LateHolding&) = delete;
  LateHolding& operator=(const LateHolding&) = delete;

  /// Whether it counts already.
  [[nodiscard]] bool begun() const { return holding_.has_value(); }
  /// What is kept now, in bytes. May end in a `give_up`.
  void update(std::uint64_t bytes) {
    if (over_) return;
    if (!holding_) {
      if (bytes == 0) return;
      account_ = account_of_();
      holding_.emplace(*account_, [this] { let_go(); });
    }
    holding_->update(bytes);
  }
  /// See Holding. Once it counts.
  [[nodiscard]] std::uint64_t even_part() const { return holding_->even_part(); }

 private:
  void let_go() {
    over_ = true;
    holding_.reset();
    // Copied, since it may destroy this one.
    const std::function<void()> give_up = give_up_;
    give_up();
  }

  AccountOf account_of_;
  std::function<void()> give_up_;
  bool over_ = false;
  std::shared_ptr<Account> account_;
  std::optional<Holding> holding_;
};

/// The loop's time, and memory. Whoever reads what a peer sends does it for a party: it waits for the party's
/// turn, charges its work to it, and counts what it keeps.
class Party {
 public:
  /// Neither is null.
  Party(std::shared_ptr<Share> time, std::shared_ptr<BufferBudget::Account> memory)
      : time_(std::move(time)), memory_(std::move(memory)) {}

  [[nodiscard]] Share& time() const { return *time_; }
  [[nodiscard]] const std::shared_ptr<BufferBudget::Account>& memory() const { return memory_; }

 private:
  std::shared_ptr<Share> time_;
  std::shared_ptr<BufferBudget::Account> memory_;
};

/// Parties that have the same part of the loop's time each, and one budget. Outlives them.
class Parties {
 public:
  /// `per_turn`: of the loop, for each. `bytes`: for all.
  Parties(Loop& loop, Share::Clock::duration per_turn, std::uint64_t bytes)
      : loop_(loop), per_turn_(per_turn), budget_(bytes), strangers_(loop, per_turn) {}
  Parties(const Parties&) = delete;
  Parties& operator=(const Parties&) = delete;

  /// Those of one name have one account, and each its own part of the loop.
  [[nodiscard]] Party party(const std::string& name) {
    return {std::make_shared<Share>(loop_, per_turn_), budget_.account_of(name)};
  }
  /// For work before it is known who the peer is.
  [[nodiscard]] Share& strangers() { return strangers_; }

 private:
  Loop& loop_;
  Share::Clock::duration per_turn_;
  BufferBudget budget_;
  Share strangers_;
};

}  // namespace farport::transport
