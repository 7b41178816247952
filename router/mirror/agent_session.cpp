#include "router/mirror/agent_session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>

#include <fmt/core.h>

#include "auth/identity.hpp"
#include "base/text.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/runtime.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Http2Stream;
using transport::Io;
using transport::IoStatus;
using transport::Task;

/// Limit for one line. A runtime's line needs at most a fifth of it, since a runtime describes itself in 64
/// KiB.
constexpr std::size_t kMaxLine = 1024 * 1024;
/// Limit for the text of a refusal.
constexpr std::size_t kMaxRefusal = 64 * 1024;
/// Longest pause within an answer.
constexpr transport::Milliseconds kSilence{20'000};

}  // namespace

Task<Result<std::string>> read_answer(Http2Stream& answer, std::size_t most) {
  const IoStatus head = co_await answer.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(answer.error());
  auto body = co_await read_body(answer.head(), answer, most);
  co_return body;
}

Task<Result<std::string>> read_body(const transport::MessageHead& head, transport::Stream& from,
                                    std::size_t most) {
  if (head.status != http_status::kOk) most = std::min(most, kMaxRefusal);
  std::string body;
  std::vector<std::byte> part(16 * 1024);
  for (;;) {
    const transport::Deadline silence(from.loop(), kSilence, [&from] {
      from.abort(Error{"read", "the agent's answer", "it stalled", {}, Cause(ETIMEDOUT)});
    });
    const Io io = co_await from.read(part);
    if (io.status == IoStatus::failed) co_return tl::unexpected(from.error());
    if (io.status == IoStatus::end) break;
    body.append(reinterpret_cast<const char*>(part.data()), io.bytes);
    if (body.size() > most) {
      co_return fail("read", "the agent's answer", fmt::format("it has more than {} bytes", most));
    }
  }
  if (head.status == http_status::kOk) co_return body;
  const RefusedRequest refused = error_from_json(body);
  const Cause cause = refused.hresult ? Cause::runtime(*refused.hresult) : Cause::http(head.status);
  const Error why{"use", "the agent", refused.why, {}, cause};
  co_return tl::unexpected(why);
}

Task<std::optional<std::string>> AnswerLines::next() {
  for (;;) {
    const std::size_t end = buffered_.find('\n', searched_);
    if (end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      searched_ = 0;
      co_return line;
    }
    searched_ = buffered_.size();
    if (searched_ > kMaxLine) {
      broken_ = Error{"read", "the agent's answer", fmt::format("a line has more than {} bytes", kMaxLine)};
      co_return std::nullopt;
    }
    const IoStatus status = read_more();
    if (status == IoStatus::would_block) {
      co_await answer_.readable();
    } else if (status != IoStatus::ok) {
      co_return std::nullopt;
    }
  }
}

/// Reads what is there. The place for it is not in next(), which a mirror keeps waiting for each agent.
IoStatus AnswerLines::read_more() {
  std::array<char, 4096> part;
  const Io io = answer_.try_read(std::as_writable_bytes(std::span(part)));
  buffered_.append(part.data(), io.bytes);
  return io.status;
}

namespace {

using transport::Milliseconds;

constexpr Milliseconds kShortestWait{1};
constexpr Milliseconds kLongestWait{10'000};
/// Factor by which a refusal slows the pace, and the slowest pace.
constexpr double kSlower = 0.8;
constexpr double kSlowest = 1.0 / 64;
/// Refusals of requests sent before the first refusal say nothing new, so they are ignored for this long.
constexpr Milliseconds kSlowedOnce{100};
/// Part of the full rate that the pace regains per second without a refusal.
constexpr double kFaster = 0.5;

double seconds(RequestPace::Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

std::optional<Milliseconds> pause_told(const transport::MessageHead& answer) {
  if (answer.status != http_status::kTooManyRequests) return std::nullopt;
  const auto told = number_in<std::int64_t>(answer.field(pace_field::kRetryAfterMs));
  if (!told) return std::nullopt;
  return std::clamp(Milliseconds(*told), kShortestWait, kLongestWait);
}

void RequestPace::learn(const transport::MessageHead& answer, bool another_agent) {
  const auto told = number_in<std::int64_t>(answer.field(pace_field::kRate));
  const double rate = told && *told > 0 ? static_cast<double>(*told) : 0;
  if (another_agent || rate != rate_) {
    share_ = 1;
    // A second's worth of requests may be sent at once; the request that told the rate was one of them.
    tokens_ = std::max(rate - 1, 0.0);
    refilled_ = now_();
  }
  rate_ = rate;
  go_on();
}

void RequestPace::refill(Clock::time_point now) {
  const double since = seconds(now - refilled_);
  if (since <= 0) return;
  refilled_ = now;
  tokens_ = std::min(rate_, tokens_ + since * rate_ * share_);
  if (now - slowed_ > kSlowedOnce) share_ = std::min(1.0, share_ + since * kFaster);
}

bool RequestPace::take(Clock::time_point now) {
  if (now < blocked_until_) return false;
  if (rate_ <= 0) return true;
  refill(now);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

void RequestPace::refused(Milliseconds pause) {
  const Clock::time_point now = now_();
  if (now - slowed_ > kSlowedOnce) {
    refill(now);
    share_ = std::max(share_ * kSlower, kSlowest);
    slowed_ = now;
  }
  tokens_ = 0;
  blocked_until_ = std::max(blocked_until_, now + pause);
  refilled_ = std::max(refilled_, blocked_until_);
}

void RequestPace::go_on() {
  const Clock::time_point now = now_();
  while (!waiting_.empty() && take(now)) {
    Turn& turn = *waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    turn.has_come_ = true;
    turn.came_.set();
  }
  stop();
  timed_ = !waiting_.empty();
  if (timed_) start(until_next(now));
}

Milliseconds RequestPace::until_next(Clock::time_point now) const {
  double wait = std::max(seconds(blocked_until_ - now), 0.0);
  if (rate_ > 0) wait = std::max(wait, seconds(refilled_ - now) + (1 - tokens_) / (rate_ * share_));
  return std::max(Milliseconds(static_cast<Milliseconds::rep>(std::ceil(wait * 1000))), kShortestWait);
}

bool RequestPace::Turn::is_now() {
  if (has_come_) return true;
  // Turns that wait go first, except that this turn may itself be the first of them.
  if (!pace_.waiting_.empty() && pace_.waiting_.begin()->first < number_) return false;
  has_come_ = pace_.take(pace_.now_());
  if (has_come_) pace_.waiting_.erase(number_);
  return has_come_;
}

void RequestPace::Turn::line_up() {
  pace_.waiting_[number_] = this;
  if (!pace_.timed_) pace_.go_on();
}

namespace {

const std::string kNoAuthority = "localhost";

/// Without TLS an orderly end can't be told from a broken connection.
transport::Http2Limits limits_on(const AgentConnection& connection, transport::Http2Limits limits) {
  limits.end_is_break = connection.ssl == nullptr;
  return limits;
}

}  // namespace

std::string agent_of(const std::string& instance, const SSL* ssl) {
  if (instance.empty() || ssl == nullptr) return instance;
  return instance + " " + auth::identity_of(SSL_get0_peer_certificate(ssl)).spki_pin;
}

AgentSession::AgentSession(AgentConnection connection, transport::Party party, transport::Http2Limits limits)
    : loop_(connection.stream->loop()),
      connection_(std::move(connection)),
      http_(std::move(connection_.stream), transport::Http2Session::Role::client, std::move(party),
            limits_on(connection_, limits)) {
  if (connection_.peers == nullptr) return;
  std::function<void(const Error&)> end = [this](const Error& why) { end_distrusted(http_, why); };
  verified_.emplace(*connection_.peers, connection_.ssl, std::move(end));
}

void AgentSession::learn_instance(const transport::MessageHead& answer) {
  instance_ = answer.field(resumption_field::kInstance);
}

std::string AgentSession::agent() const {
  return agent_of(instance_, connection_.ssl);
}

Task<Error> AgentSession::run() {
  const Result<void> ended = co_await http_.run();
  Error why = ended.error();
  why.what = "keep the session with";
  why.on = address();
  if (connection_.explain) why.why = connection_.explain(why);
  co_return why;
}

std::unique_ptr<Http2Stream> AgentSession::request(std::string_view method, std::string_view path, bool body,
                                                   const transport::HeaderFields& fields) {
  // A route by a command has no network address to serve as the authority (RFC 9113 section 8.3.1).
  const std::string& authority = peer() ? address() : kNoAuthority;
  return http_.request(method, path, authority, fields, body);
}

Task<Result<std::unique_ptr<Http2Stream>>> AgentSession::ask(std::string method, std::string path) {
  for (;;) {
    auto answer = request(method, path, false);
    if (answer == nullptr) co_return fail("ask", address(), "the session accepts no more requests");
    const IoStatus head = co_await answer->head_received();
    if (head != IoStatus::ok) co_return tl::unexpected(answer->error());
    const auto pause = pause_told(answer->head());
    if (!pause) co_return answer;
    answer.reset();
    co_await transport::sleep(loop(), *pause);
  }
}

Task<void> ask_instance(AgentSession& session) {
  const auto answer = co_await session.ask("GET", "/v1/runtimes?watch=true");
  if (answer) session.learn_instance((*answer)->head());
}

Task<Result<std::string>> ask_in(AgentSession& session, std::string method, std::string path) {
  CO_ASSIGN_OR_RETURN(auto answer, co_await session.ask(std::move(method), std::move(path)));
  session.learn_instance(answer->head());
  auto body = co_await read_answer(*answer);
  co_return body;
}

}  // namespace farport::router
