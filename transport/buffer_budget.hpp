// BufferBudget: how many bytes all sessions together may keep: what has come before anybody took it, and what
// has been sent and may have to be sent again.
#pragma once

#include <cstdint>
#include <functional>

#include "transport/node_list.hpp"

namespace farport::transport {

/// Flow control bounds what one stream keeps, and the number of streams is bounded too; but their product is
/// more than a host has. Beyond the budget, the stream that keeps most in the account that keeps most gives
/// up what it has: whoever takes what is sent to him keeps little.
class BufferBudget {
 public:
  explicit BufferBudget(std::uint64_t limit) : limit_(limit) {}
  BufferBudget(const BufferBudget&) = delete;
  BufferBudget& operator=(const BufferBudget&) = delete;

  /// One session's, or one identity's. Outlives its Holdings; must not outlive the budget.
  class Account final : private ListNode {
   public:
    explicit Account(BufferBudget& budget) : budget_(budget) { budget.accounts_.push(*this); }

   private:
    friend class BufferBudget;
    BufferBudget& budget_;
    std::uint64_t bytes_ = 0;
    NodeList holdings_;
  };

  /// One stream's.
  class Holding final : private ListNode {
   public:
    /// `give_up` is called where this one has to go: it lets go of the bytes and destroys the Holding.
    Holding(Account& account, std::function<void()> give_up);
    ~Holding();
    /// What is kept now, in bytes. May end in `give_up` being called, of this one or of another.
    void update(std::uint64_t bytes);

   private:
    friend class BufferBudget;
    void count(std::uint64_t bytes);

    Account& account_;
    std::function<void()> give_up_;
    std::uint64_t bytes_ = 0;
  };

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  /// How many Holdings had to go.
  [[nodiscard]] std::uint64_t given_up() const { return given_up_; }

 private:
  void make_room();

  std::uint64_t limit_;
  std::uint64_t bytes_ = 0;
  std::uint64_t given_up_ = 0;
  NodeList accounts_;
};

}  // namespace farport::transport
