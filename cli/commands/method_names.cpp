#include "cli/commands/method_names.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "transport/race.hpp"

namespace farport::cli {
namespace {

using std::chrono::steady_clock;
using transport::Milliseconds;
using transport::Task;

constexpr Milliseconds kBetweenQuestions{5000};
constexpr std::size_t kMostWithout = 100'000;

}  // namespace

bool MethodNames::lacks(const std::vector<std::uint64_t>& addresses) const {
  return std::any_of(addresses.begin(), addresses.end(), [this](std::uint64_t address) {
    return methods_.find(address) == nullptr && !without_.contains(address);
  });
}

Task<Result<void>> MethodNames::ask(std::vector<std::uint64_t> addresses) {
  if (asked_) {
    const auto rest = std::chrono::ceil<Milliseconds>(*asked_ + kBetweenQuestions - steady_clock::now());
    if (rest > Milliseconds::zero()) co_await with_deadline(sessions_.loop(), hurry_.wait(), rest);
  }
  const Result<void> told =
      co_await router::read_methods(sessions_, runtime_id_, readers_, addresses, methods_);
  asked_ = steady_clock::now();
  for (const std::uint64_t address : addresses) {
    if (methods_.find(address) == nullptr && without_.size() < kMostWithout) without_.insert(address);
  }
  co_return told;
}

std::vector<std::string> MethodNames::of(const std::vector<std::uint64_t>& addresses) const {
  std::vector<std::string> names;
  for (const std::uint64_t address : addresses) {
    const profile::Frame* const method = methods_.find(address);
    names.push_back(method == nullptr ? fmt::format("{:#x}", address) : method->name);
  }
  return names;
}

}  // namespace farport::cli
