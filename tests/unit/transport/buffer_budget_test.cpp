#include <memory>
#include <optional>

#include <catch2/catch.hpp>

#include "transport/party.hpp"

using farport::transport::BufferBudget;

namespace {

/// Something that keeps bytes, as a stream does.
class Keeper {
 public:
  explicit Keeper(BufferBudget::Account& account)
      : reservation_(std::make_unique<BufferBudget::Reservation>(account, [this] { reservation_.reset(); })) {
  }

  void keep(std::uint64_t bytes) { reservation_->update(bytes); }
  [[nodiscard]] bool has_given_up() const { return reservation_ == nullptr; }

 private:
  std::unique_ptr<BufferBudget::Reservation> reservation_;
};

}  // namespace

TEST_CASE("beyond the budget, the largest of the session that keeps most goes", "[transport]") {
  BufferBudget budget(100);
  BufferBudget::Account greedy(budget);
  BufferBudget::Account modest(budget);
  Keeper small(greedy);
  Keeper large(greedy);
  Keeper other(modest);
  small.keep(35);
  large.keep(36);
  // The largest of all, but not in the session that keeps most.
  other.keep(29);
  CHECK(budget.bytes() == 100);
  CHECK(budget.given_up() == 0);
  other.keep(40);
  CHECK(large.has_given_up());
  CHECK_FALSE(small.has_given_up());
  CHECK_FALSE(other.has_given_up());
  CHECK(budget.bytes() == 75);
  CHECK(budget.given_up() == 1);
}

TEST_CASE("whoever goes beyond the budget may be the one that goes", "[transport]") {
  BufferBudget budget(100);
  BufferBudget::Account account(budget);
  Keeper keeper(account);
  keeper.keep(60);
  keeper.keep(20);
  keeper.keep(101);
  CHECK(keeper.has_given_up());
  CHECK(budget.bytes() == 0);
}

TEST_CASE("what is gone is kept no more", "[transport]") {
  BufferBudget budget(100);
  BufferBudget::Account account(budget);
  {
    Keeper keeper(account);
    keeper.keep(60);
    CHECK(budget.bytes() == 60);
  }
  CHECK(budget.bytes() == 0);
}

TEST_CASE("as many go as it takes", "[transport]") {
  BufferBudget budget(100);
  BufferBudget::Account greedy(budget);
  BufferBudget::Account modest(budget);
  Keeper first(greedy);
  Keeper second(greedy);
  Keeper other(modest);
  first.keep(40);
  second.keep(50);
  other.keep(60);
  // The 50 are not enough; then the one who keeps 60 keeps most.
  CHECK(second.has_given_up());
  CHECK(budget.bytes() == 100);
  other.keep(90);
  CHECK(other.has_given_up());
  CHECK_FALSE(first.has_given_up());
}

TEST_CASE("while half of a budget is free, one may keep that; then its even part", "[transport]") {
  BufferBudget budget(1000);
  const auto alice = budget.account_of("alice");
  const auto bob = budget.account_of("bob");
  BufferBudget::Reservation first(*alice, [] {});
  BufferBudget::Reservation second(*alice, [] {});
  BufferBudget::Reservation third(*bob, [] {});
  CHECK(first.even_part() == 500);
  first.update(501);
  CHECK(first.even_part() == 125);
  CHECK(third.even_part() == 250);
}

TEST_CASE("an owner has one account for as long as it is used", "[transport]") {
  BufferBudget budget(1000);
  const auto account = budget.account_of("alice");
  CHECK(budget.account_of("alice") == account);
  CHECK(budget.account_of("bob") != account);
}

TEST_CASE(
    "a late holding asks for its account with the first bytes, and counts nothing more once it had to go",
    "[transport]") {
  BufferBudget budget(100);
  int asked = 0;
  int gone = 0;
  std::optional<BufferBudget::LazyReservation> late;
  const auto make = [&] {
    late.emplace(
        [&] {
          ++asked;
          return budget.account_of("alice");
        },
        [&] { ++gone; });
  };
  make();
  late->update(0);
  CHECK(asked == 0);
  CHECK_FALSE(late->begun());
  late->update(60);
  CHECK(late->begun());
  CHECK(budget.bytes() == 60);
  // Its owner takes a while to let go of the bytes.
  late->update(101);
  CHECK(gone == 1);
  CHECK(budget.bytes() == 0);
  late->update(101);
  CHECK(gone == 1);
  CHECK(asked == 1);
  make();
  late->update(60);
  late.reset();
  CHECK(budget.bytes() == 0);
}
