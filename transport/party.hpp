// Party: one that this process works for, such as an identity, and what all of its connections may take.
#pragma once

#include <memory>

#include "transport/buffer_budget.hpp"
#include "transport/share.hpp"

namespace farport::transport {

/// The loop's time, and memory. Whoever reads what a peer sends does it for a party: it waits for the party's
/// turn, charges its work to it, and counts what it keeps.
class Party {
 public:
  /// Neither is null.
  Party(std::shared_ptr<Share> time, std::shared_ptr<BufferBudget::Account> memory)
      : time_(std::move(time)), memory_(std::move(memory)) {}
  /// One that has a budget of its own, of so many bytes.
  static Party alone(Loop& loop, Share::Clock::duration per_turn, std::uint64_t bytes);

  [[nodiscard]] Share& time() const { return *time_; }
  [[nodiscard]] BufferBudget::Account& memory() const { return *memory_; }

 private:
  std::shared_ptr<Share> time_;
  std::shared_ptr<BufferBudget::Account> memory_;
};

inline Party Party::alone(Loop& loop, Share::Clock::duration per_turn, std::uint64_t bytes) {
  struct Own {
    explicit Own(std::uint64_t bytes) : budget(bytes), account(budget) {}
    BufferBudget budget;
    BufferBudget::Account account;
  };
  const auto own = std::make_shared<Own>(bytes);
  return {std::make_shared<Share>(loop, per_turn),
          std::shared_ptr<BufferBudget::Account>(own, &own->account)};
}

}  // namespace farport::transport
