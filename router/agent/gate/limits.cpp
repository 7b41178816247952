#include "router/agent/gate/limits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "ipc/message.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

using auth::limit_of;
using auth::LimitSettings;

/// Retry-After, in seconds, where only the end of another connection makes room.
constexpr int kRetryAfterS = 10;
/// Up to this many identities are kept without looking for idle ones.
constexpr std::size_t kFewIdentities = 64;
/// How long one identity's requests may keep the loop busy in one turn; all others wait behind them.
constexpr std::chrono::milliseconds kTurnShare{2};
/// Each takes some descriptors, and half a MiB to decompress them.
constexpr std::size_t kFilesAtOnce = 8;
/// How long an identity that has used up its refusals is not served.
constexpr transport::Milliseconds kRefusedRest{100};

tl::unexpected<LimitExceeded> exceeded(const auth::Limit& limit, const std::string& what,
                                       std::uint64_t value) {
  return tl::unexpected(LimitExceeded{&limit, what + " (" + std::to_string(value) + ")"});
}

}  // namespace

double TokenBucket::tokens(Clock::time_point now) const {
  const double since = std::chrono::duration<double>(now - filled_).count();
  return std::min(rate_, tokens_ + since * rate_);
}

bool TokenBucket::take(Clock::time_point now) {
  tokens_ = tokens(now);
  filled_ = now;
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

transport::Milliseconds TokenBucket::until_next(Clock::time_point now) const {
  const double wait = (1 - tokens(now)) / rate_;
  const auto whole = std::chrono::ceil<transport::Milliseconds>(std::chrono::duration<double>(wait));
  return std::max(whole, transport::Milliseconds(1));
}

bool TokenBucket::full(Clock::time_point now) const {
  return tokens(now) >= rate_;
}

AnswerAccount::AnswerAccount(transport::Loop& loop) : time(loop, kTurnShare), files(loop, kFilesAtOnce) {}

Limits::IdentityUsage::IdentityUsage(transport::Loop& loop, std::size_t per_second, Clock::time_point now)
    : requests(per_second, now), refusals(per_second, now), account(std::make_shared<AnswerAccount>(loop)) {}

Limits::Limits(transport::Loop& loop, LimitSettings settings, Now now)
    : loop_(loop), settings_(settings), now_(now) {}

tl::expected<std::unique_ptr<Limits::Session>, LimitExceeded> Limits::begin_session(const std::string& key) {
  forget_idle_parties();
  if (*sessions_ >= settings_.sessions) {
    return exceeded(limit_of(&LimitSettings::sessions), "the agent has reached its limit of sessions",
                    settings_.sessions);
  }
  std::shared_ptr<IdentityUsage>& usage = identities_[key];
  if (!usage) usage = std::make_shared<IdentityUsage>(loop_, settings_.requests_per_second, now_());
  if (*usage->sessions >= settings_.sessions_per_identity) {
    return exceeded(limit_of(&LimitSettings::sessions_per_identity),
                    "this identity has reached its limit of sessions", settings_.sessions_per_identity);
  }
  return std::make_unique<Session>(*this, usage);
}

void Limits::forget_idle_parties() {
  // Each search looks at all of them, so wait until their number has doubled since the last one.
  if (identities_.size() < look_at_) return;
  const Clock::time_point now = now_();
  std::erase_if(identities_, [&](const auto& entry) {
    const IdentityUsage& usage = *entry.second;
    return *usage.sessions == 0 && *usage.connections == 0 && usage.requests.full(now);
  });
  look_at_ = std::max(kFewIdentities, 2 * identities_.size());
}

Limits::Session::Session(Limits& limits, std::shared_ptr<IdentityUsage> usage)
    : limits_(limits), usage_(std::move(usage)), in_all_(limits.sessions_), of_identity_(usage_->sessions) {}

std::optional<LimitExceeded> Limits::Session::count_request() {
  const Clock::time_point now = limits_.now_();
  if (usage_->requests.take(now)) return std::nullopt;
  if (!usage_->refusals.take(now)) usage_->account->time.rest(kRefusedRest);
  LimitExceeded over = exceeded(limit_of(&LimitSettings::requests_per_second),
                                "this identity has reached its limit of requests per second",
                                limits_.settings_.requests_per_second)
                           .value();
  over.wait = usage_->requests.until_next(now);
  return over;
}

tl::expected<Limits::Connection, LimitExceeded> Limits::Session::begin_connection() {
  const LimitSettings& settings = limits_.settings_;
  if (*connections_ >= settings.connections_per_session) {
    return exceeded(limit_of(&LimitSettings::connections_per_session),
                    "this session has reached its limit of diagnostic connections",
                    settings.connections_per_session);
  }
  if (*usage_->connections >= settings.connections_per_identity) {
    return exceeded(limit_of(&LimitSettings::connections_per_identity),
                    "this identity has reached its limit of diagnostic connections",
                    settings.connections_per_identity);
  }
  return Connection{CountedSlot(limits_.connections_), CountedSlot(usage_->connections),
                    CountedSlot(connections_)};
}

Refusal refusal_of(const LimitExceeded& exceeded) {
  const bool everybodys = exceeded.limit == &limit_of(&LimitSettings::sessions);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(exceeded.wait).count();
  return {everybodys ? http_status::kUnavailable : http_status::kTooManyRequests, ipc::hresult::kBusy,
          exceeded.message + ": " + std::string(exceeded.limit->key) +
              " in the agent's configuration; try again later",
          exceeded.wait.count() > 0 ? static_cast<int>(seconds) : kRetryAfterS, exceeded.wait};
}

std::string Places::full(std::size_t most, std::string_view whose) const {
  return fmt::format("the agent {} {} {}{}{} already", verb_, most, noun_, most == 1 ? "" : "s", whose);
}

namespace {

/// The counter of this key. Those that count nothing are forgotten.
template <typename Key>
std::shared_ptr<std::size_t> counter_of(std::map<Key, std::shared_ptr<std::size_t>>& counters,
                                        const Key& key) {
  std::erase_if(counters, [](const auto& each) { return *each.second == 0; });
  auto& counter = counters[key];
  if (counter == nullptr) counter = std::make_shared<std::size_t>(0);
  return counter;
}

}  // namespace

tl::expected<Places::Place, std::string> Places::take(const Caller& caller, uid_t user) {
  const bool is_own = !caller.acting_for.empty();
  const auto& taken = is_own ? taken_by_agent_ : taken_;
  if (*taken >= most_) return tl::unexpected(full(most_, ""));
  const auto theirs = is_own ? counter_of(taken_for_, user) : counter_of(taken_by_, identity_key(caller));
  const std::size_t most = std::max<std::size_t>(is_own ? most_ - 1 : most_ / 2, 1);
  if (*theirs >= most)
    return tl::unexpected(full(most, is_own ? fmt::format(" of the user {} by itself", user) : " for you"));
  return Place{CountedSlot(taken), CountedSlot(theirs)};
}

}  // namespace farport::router
