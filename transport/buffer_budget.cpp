#include "transport/buffer_budget.hpp"

#include <utility>

namespace farport::transport {

BufferBudget::Holding::Holding(Account& account, std::function<void()> give_up)
    : account_(account), give_up_(std::move(give_up)) {
  account_.holdings_.push(*this);
}

BufferBudget::Holding::~Holding() {
  count(0);
}

void BufferBudget::Holding::count(std::uint64_t bytes) {
  account_.bytes_ += bytes - bytes_;
  account_.budget_.bytes_ += bytes - bytes_;
  bytes_ = bytes;
}

void BufferBudget::Holding::update(std::uint64_t bytes) {
  BufferBudget& budget = account_.budget_;
  const bool grows = bytes > bytes_;
  count(bytes);
  // Nothing of this object is used any more: it may be the one that goes.
  if (grows && budget.bytes_ > budget.limit_) budget.make_room();
}

void BufferBudget::make_room() {
  // Rare, so going through all of them is cheap enough.
  NodeList seen;
  Account* worst = nullptr;
  while (ListNode* node = accounts_.pop()) {
    auto* account = static_cast<Account*>(node);
    if (worst == nullptr || account->bytes_ > worst->bytes_) worst = account;
    seen.push(*node);
  }
  accounts_.take(seen);
  Holding* largest = nullptr;
  while (ListNode* node = worst->holdings_.pop()) {
    auto* holding = static_cast<Holding*>(node);
    if (largest == nullptr || holding->bytes_ > largest->bytes_) largest = holding;
    seen.push(*node);
  }
  worst->holdings_.take(seen);
  ++given_up_;
  // Copied, since it destroys its owner.
  const std::function<void()> give_up = largest->give_up_;
  give_up();
}

}  // namespace farport::transport
