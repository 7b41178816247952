#include "router/mirror/session_manager.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

constexpr Milliseconds kFirstPause{200};
constexpr Milliseconds kLongestPause{5'000};
/// A session that lasted so long was of use.
constexpr Milliseconds kLastingSession{1'000};
/// Limit for window growth, which is the most that an agent keeps for us: about five times what 1 Gbit/s
/// carries in 100 ms. See Http2Window for the reason.
constexpr std::uint32_t kLargestWindow = 64U << 20;
/// Time for an agent to notice that its mirror leaves.
constexpr Milliseconds kMirrorsFarewell{1500};

}  // namespace

/// A session and the reason for its end. It may go on after the next one was opened.
struct SessionManager::HeldSession {
  HeldSession(transport::Loop& loop, std::shared_ptr<AgentSession> held)
      : session(std::move(held)), over(loop) {}

  std::shared_ptr<AgentSession> session;
  transport::Event over;     ///< Set when it has ended, or takes no more requests.
  std::optional<Error> why;  ///< Why it ended; empty if it only takes no more requests.
};

SessionManager::SessionManager(transport::Loop& loop, Log log, std::unique_ptr<AgentRoute> route,
                               ClientOptions options)
    : loop_(loop),
      log_(std::move(log)),
      route_(std::move(route)),
      address_text_(route_->text()),
      options_(std::move(options)),
      party_(options_.agents->party(address_text_)),
      pace_(loop),
      session_changed_(loop),
      dial_now_(loop),
      sessions_(loop),
      notifying_(loop) {}

SessionManager::~SessionManager() = default;

Task<void> SessionManager::run(OnSession follow, OnEnd on_end) {
  transport::Backoff backoff(kFirstPause, kLongestPause);
  for (;;) {
    answered_ = false;
    const auto begun = std::chrono::steady_clock::now();
    const Error why = co_await hold_session(follow);
    why_ended_ = why.message();
    on_end(why);
    // An agent that has answered is alive, so dial again soon. One that ends each session at once is not.
    if (answered_ && std::chrono::steady_clock::now() - begun >= kLastingSession) backoff.reset();
    co_await with_deadline(loop_, dial_now_.wait(), backoff.next());
  }
}

void SessionManager::give_up(Error why) {
  given_up_ = std::move(why);
  session_changed_.changed();
}

void SessionManager::dial_now() {
  if (session_ == nullptr) dial_now_.set();
}

Task<Error> SessionManager::hold_session(const OnSession& follow) {
  transport::Http2Limits limits = options_.limits();
  limits.largest_window = kLargestWindow;
  auto connection = co_await route_->open();
  if (!connection) co_return connection.error();
  address_text_ = connection->address;
  const auto held = std::make_shared<HeldSession>(
      loop_, std::make_shared<AgentSession>(std::move(*connection), party_, limits));
  struct Current {
    SessionManager& sessions;
    ~Current() {
      sessions.session_.reset();
      sessions.session_changed_.changed();
    }
  } const current{*this};
  session_ = held->session;
  session_changed_.changed();
  transport::TaskSet following(loop_);
  following.spawn(follow(*held->session));
  following.spawn([](std::shared_ptr<HeldSession> watched) -> Task<void> {
    co_await watched->session->draining().wait();
    watched->over.set();
  }(held));
  sessions_.spawn(carry(held));
  co_await held->over.wait();
  answered_ = !held->session->instance().empty();
  if (held->why) co_return *held->why;
  co_return Error{"continue the session with", address_text_, "the agent is stopping"};
}

Task<void> SessionManager::carry(std::shared_ptr<HeldSession> held) {
  struct Known {
    std::set<const HeldSession*>& all;
    const HeldSession* held;
    ~Known() { all.erase(held); }
  } const known{held_, *held_.insert(held.get()).first};
  held->why = co_await held->session->run();
  held->over.set();
}

Task<void> SessionManager::leave() {
  for (const HeldSession* held : held_) held->session->leave();
  co_await with_deadline(loop_, sessions_.idle(), kMirrorsFarewell);
}

void SessionManager::forget(std::vector<std::string> tokens) {
  notifying_.spawn(tell(std::move(tokens)));
}

Task<void> SessionManager::tell(std::vector<std::string> tokens) {
  bool expired = false;
  const transport::Deadline limit(loop_, options_.grace, [&] {
    expired = true;
    session_changed_.changed();
  });
  while (!expired) {
    const std::shared_ptr<AgentSession> used = session_;
    bool told = used != nullptr;
    for (const std::string& token : tokens) {
      if (used == nullptr) break;
      const auto answer = co_await used->ask("DELETE", "/v1/connections/" + token);
      told = told && answer.has_value();
    }
    if (told) co_return;
    if (used == session_) co_await session_changed_.wait();
  }
}

}  // namespace farport::router
