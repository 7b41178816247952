#include "transport/party.hpp"

#include <algorithm>
#include <utility>

namespace farport::transport {

BufferBudget::Reservation::Reservation(Account& account, std::function<void()> give_up)
    : account_(account), give_up_(std::move(give_up)) {
  account_.holdings_.push(*this);
  ++account_.holding_count_;
}

BufferBudget::Reservation::~Reservation() {
  count(0);
  --account_.holding_count_;
}

void BufferBudget::Reservation::count(std::uint64_t bytes) {
  account_.bytes_ += bytes - bytes_;
  account_.budget_.bytes_ += bytes - bytes_;
  bytes_ = bytes;
}

void BufferBudget::Reservation::update(std::uint64_t bytes) {
  BufferBudget& budget = account_.budget_;
  const bool grows = bytes > bytes_;
  count(bytes);
  if (!grows) return;
  // From here on this object is not used: make_room() may destroy it.
  while (budget.bytes_ > budget.limit() && budget.make_room()) {
  }
}

std::uint64_t BufferBudget::Reservation::even_part() const {
  const BufferBudget& budget = account_.budget_;
  const std::uint64_t half = budget.limit() / 2;
  if (budget.bytes_ <= half) return half;
  return half / std::max<std::uint64_t>(budget.account_count_, 1) /
         std::max<std::uint64_t>(account_.holding_count_, 1);
}

std::shared_ptr<BufferBudget::Account> BufferBudget::account_of(const std::string& owner) {
  std::weak_ptr<Account>& known = owners_[owner];
  auto account = known.lock();
  if (account == nullptr) {
    std::erase_if(owners_, [&](const auto& each) { return each.first != owner && each.second.expired(); });
    account = std::make_shared<Account>(*this);
    known = account;
  }
  return account;
}

BufferBudget::Account* BufferBudget::worst_account() {
  Account* worst = nullptr;
  accounts_.for_each([&worst](ListNode& node) {
    auto& account = static_cast<Account&>(node);
    if (account.holdings_.empty()) return;
    if (worst == nullptr || account.bytes_ > worst->bytes_) worst = &account;
  });
  return worst;
}

/// Returns false if there is nothing that could be given up.
bool BufferBudget::make_room() {
  // Rare, so a linear search is cheap enough.
  Account* worst = worst_account();
  if (worst == nullptr) return false;
  Reservation* largest = nullptr;
  worst->holdings_.for_each([&largest](ListNode& node) {
    auto& holding = static_cast<Reservation&>(node);
    if (largest == nullptr || holding.bytes_ > largest->bytes_) largest = &holding;
  });
  if (largest->bytes_ == 0) return false;
  ++given_up_;
  // Copied, since the call destroys the Reservation that owns it.
  const std::function<void()> give_up = largest->give_up_;
  give_up();
  return true;
}

}  // namespace farport::transport
