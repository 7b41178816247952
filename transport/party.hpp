// Party: whom this process works for, such as an identity or an agent, with its budgets of memory and loop
// time.
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

/// Bounds how much memory peers can make this process hold, all together: unread input, data kept for
/// retransmission, answers that nobody reads, queued frames, and the fixed cost of each session and stream.
/// Flow control bounds one stream, and the number of streams is bounded, but their product exceeds a host's
/// memory. Beyond the limit, the largest holding in the largest account is given up until there is room; a
/// peer that reads what is sent to it holds little.
class BufferBudget {
 public:
  explicit BufferBudget(std::uint64_t limit) : limit_(limit), least_(limit / 4) {}
  BufferBudget(const BufferBudget&) = delete;
  BufferBudget& operator=(const BufferBudget&) = delete;

  /// The account of one identity. Must outlive its Holdings, and not outlive the budget.
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

  /// A reservation of one session or one stream.
  class Reservation final : private ListNode {
   public:
    /// `give_up` is called when this holding is evicted. It must free the memory and destroy the Reservation.
    Reservation(Account& account, std::function<void()> give_up);
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    ~Reservation();
    /// Sets how many bytes are held now. May call `give_up` of this holding or of others.
    void update(std::uint64_t bytes);
    /// How many bytes this holding may keep without the budget being exceeded: half of the limit while half
    /// of it is free, then an even share of the other half. A caller that wants more should wait until it
    /// holds less.
    [[nodiscard]] std::uint64_t even_part() const;

   private:
    friend class BufferBudget;
    void count(std::uint64_t bytes);

    Account& account_;
    std::function<void()> give_up_;
    std::uint64_t bytes_ = 0;
  };

  class LazyReservation;

  /// Sets the memory that this process uses for itself. The limit for peers shrinks by that, to a quarter at
  /// least.
  void set_own(std::uint64_t bytes) { own_ = bytes; }

  /// The account of this owner; shared, and kept while somebody uses it.
  [[nodiscard]] std::shared_ptr<Account> account_of(const std::string& owner);

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// How many Holdings have been given up.
  [[nodiscard]] std::uint64_t given_up() const { return given_up_; }

 private:
  bool make_room();
  [[nodiscard]] Account* worst_account();

  /// The limit for peers.
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

/// A Reservation for owners that usually hold nothing: it and its account are created at the first bytes.
/// Once it is given up nothing more is counted, so `give_up` need not free the memory at once.
class BufferBudget::LazyReservation {
 public:
  using AccountOf = std::function<std::shared_ptr<Account>()>;

  /// `give_up` may destroy this object.
  LazyReservation(AccountOf account_of, std::function<void()> give_up)
      : account_of_(std::move(account_of)), give_up_(std::move(give_up)) {}
  LazyReservation(const LazyReservation&) = delete;
  LazyReservation& operator=(const LazyReservation&) = delete;

  /// Whether it has counted anything yet.
  [[nodiscard]] bool begun() const { return reservation_.has_value(); }
  /// Sets how many bytes are held now. May call a `give_up`.
  void update(std::uint64_t bytes) {
    if (over_) return;
    if (!reservation_) {
      if (bytes == 0) return;
      account_ = account_of_();
      reservation_.emplace(*account_, [this] { let_go(); });
    }
    reservation_->update(bytes);
  }
  /// See Reservation. Only after begun().
  [[nodiscard]] std::uint64_t even_part() const { return reservation_->even_part(); }

 private:
  void let_go() {
    over_ = true;
    reservation_.reset();
    // Copied, since the call may destroy this object.
    const std::function<void()> give_up = give_up_;
    give_up();
  }

  AccountOf account_of_;
  std::function<void()> give_up_;
  bool over_ = false;
  std::shared_ptr<Account> account_;
  std::optional<Reservation> reservation_;
};

/// Whoever reads what a peer sends does so for a party: it waits for the party's turn on the loop, charges
/// its work to it, and counts the memory that it holds in the party's account.
class Party {
 public:
  /// Neither argument may be null.
  Party(std::shared_ptr<Share> time, std::shared_ptr<BufferBudget::Account> memory)
      : time_(std::move(time)), memory_(std::move(memory)) {}

  [[nodiscard]] Share& time() const { return *time_; }
  [[nodiscard]] const std::shared_ptr<BufferBudget::Account>& memory() const { return memory_; }

 private:
  std::shared_ptr<Share> time_;
  std::shared_ptr<BufferBudget::Account> memory_;
};

/// Makes parties that each get the same share of the loop's time and have one budget together. Must outlive
/// them.
class Parties {
 public:
  /// `per_turn`: loop time for each party. `bytes`: the budget for all.
  Parties(Loop& loop, Share::Clock::duration per_turn, std::uint64_t bytes)
      : loop_(loop), per_turn_(per_turn), budget_(bytes), unauthenticated_share_(loop, per_turn) {}
  Parties(const Parties&) = delete;
  Parties& operator=(const Parties&) = delete;

  /// Parties of the same name have one account, but each its own share of the loop.
  [[nodiscard]] Party party(const std::string& name) {
    return {std::make_shared<Share>(loop_, per_turn_), budget_.account_of(name)};
  }
  /// For work that is done before the peer is known.
  [[nodiscard]] Share& strangers() { return unauthenticated_share_; }

 private:
  Loop& loop_;
  Share::Clock::duration per_turn_;
  BufferBudget budget_;
  Share unauthenticated_share_;
};

}  // namespace farport::transport
