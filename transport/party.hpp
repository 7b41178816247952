// Parties: those that this process works for, such as identities or agents, and what each may take.
#pragma once

#include <memory>
#include <string>

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
