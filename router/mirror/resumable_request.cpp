#include "router/mirror/resumable_request.hpp"

#include <cerrno>

#include <fmt/core.h>

#include "base/text.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {

using transport::Http2Stream;
using transport::IoStatus;
using transport::Task;

namespace {

/// Time limit for waiting for a turn under the agent's rate limit. A tool is not worth keeping longer.
constexpr transport::Milliseconds kLongestTurn{60'000};

}  // namespace

ResumableRequest::ResumableRequest(SessionManager& sessions, std::string path, transport::HeaderFields fields)
    : sessions_(sessions),
      path_(std::move(path)),
      fields_(std::move(fields)),
      stream_(sessions.loop(), transport::ResumableStream::Side::asks,
              [this] { return sessions_.party().memory(); }),
      head_event_(sessions.loop()),
      turn_(sessions.pace(), stream_.interrupted()),
      keeping_(keep()) {
  keeping_.start();
}

ResumableRequest::~ResumableRequest() {
  keeping_.reset();
  // A live stream tells the agent by its own end; only one that waits for a session doesn't.
  if (begun_ && stream_.waits()) sessions_.forget(std::move(tokens_));
}

Task<IoStatus> ResumableRequest::head_received() {
  while (!head_ && !stream_.over()) co_await head_event_.wait();
  co_return head_ ? IoStatus::ok : IoStatus::failed;
}

Task<void> ResumableRequest::keep() {
  while (!stream_.over()) {
    if (const Error* const why = sessions_.given_up(); why != nullptr) {
      stream_.abort(*why);
      break;
    }
    if (sessions_.session() != nullptr && !turn_.is_now()) {
      limit_turn();
      turn_.line_up();
      while (!turn_.is_now() && !stream_.over()) co_await stream_.interrupted().wait();
      continue;
    }
    limit_waiting();
    const std::shared_ptr<AgentSession> session = sessions_.session();
    Outcome outcome = Outcome::connection_lost;
    if (session != nullptr) outcome = co_await ask(session);
    if (outcome == Outcome::attached) {
      last_session_ = session;
      grace_.reset();
      turn_limit_.reset();
      while (!stream_.waits() && !stream_.over()) co_await stream_.interrupted().wait();
    } else if (outcome == Outcome::connection_lost && session == sessions_.session()) {
      co_await sessions_.session_changed().wait();
    }
  }
  head_event_.set();
}

void ResumableRequest::limit_waiting() {
  if (grace_) return;
  grace_.emplace(sessions_.loop(), sessions_.options().grace, [this] {
    const auto seconds = std::chrono::duration<double>(sessions_.options().grace).count();
    std::string why = fmt::format("the session broke and did not come back within {:g} s", seconds);
    if (!sessions_.why_ended().empty()) why += ": " + sessions_.why_ended();
    stream_.abort(broken(std::move(why)));
    head_event_.set();
  });
}

void ResumableRequest::limit_turn() {
  // The agent is reachable and only limits our rate.
  grace_.reset();
  if (turn_limit_) return;
  turn_limit_.emplace(sessions_.loop(), kLongestTurn, [this] {
    stream_.abort(
        Error{"use", sessions_.address(), "the agent deferred it for a minute (limits.requests_per_second)",
              "send fewer requests, or raise that limit", Cause::http(http_status::kTooManyRequests)});
    head_event_.set();
  });
}

void ResumableRequest::refused(transport::Milliseconds pause) {
  stream_.detach();
  turn_.refused(pause);
}

Task<ResumableRequest::Outcome> ResumableRequest::ask(std::shared_ptr<AgentSession> session) {
  Outcome outcome = Outcome::not_found;
  turn_.sent();
  if (begun_) {
    // A lost answer leaves open whether the agent has taken the new token, so try both.
    const std::vector<std::string> candidates = tokens_;
    for (const std::string& token : candidates) {
      outcome = co_await resume(*session, token);
      if (outcome != Outcome::not_found) co_return outcome;
    }
  }
  // A request can only be sent anew if no agent has seen it.
  if (head_ || stream_.acknowledged() > 0) {
    stream_.abort(broken("the agent no longer knows it"));
    co_return Outcome::finished;
  }
  outcome = co_await begin(session);
  co_return outcome;
}

Task<ResumableRequest::Outcome> ResumableRequest::begin(std::shared_ptr<AgentSession> session) {
  tokens_.clear();
  tokens_.push_back(random_token());
  transport::HeaderFields fields = fields_;
  fields.emplace_back(resumption_field::kToken, tokens_.front());
  std::shared_ptr<Http2Stream> carrier = session->request("POST", path_, true, fields);
  if (carrier == nullptr) co_return Outcome::connection_lost;
  begun_ = true;
  first_session_ = std::move(session);
  const Outcome outcome = co_await attach(std::move(carrier), true);
  // The agent refused before it looked at the token.
  if (outcome == Outcome::refused) begun_ = false;
  co_return outcome;
}

Task<ResumableRequest::Outcome> ResumableRequest::resume(AgentSession& session, std::string token) {
  std::string next = random_token();
  transport::HeaderFields fields;
  fields.emplace_back(resumption_field::kToken, next);
  if (!first_session_->instance().empty()) {
    fields.emplace_back(resumption_field::kInstance, first_session_->instance());
  }
  fields.emplace_back(resumption_field::kReceived, std::to_string(stream_.received()));
  fields.emplace_back(resumption_field::kFrom, std::to_string(stream_.acknowledged()));
  std::shared_ptr<Http2Stream> carrier = session.request("POST", "/v1/connections/" + token, true, fields);
  if (carrier == nullptr) co_return Outcome::connection_lost;
  tokens_.insert(tokens_.begin(), next);
  const Outcome outcome = co_await attach(std::move(carrier), false);
  if (outcome == Outcome::not_found || outcome == Outcome::refused) std::erase(tokens_, next);
  if (outcome == Outcome::attached) tokens_ = {std::move(next)};
  co_return outcome;
}

Task<ResumableRequest::Outcome> ResumableRequest::attach(std::shared_ptr<Http2Stream> carrier, bool first) {
  if (!stream_.resume(carrier, stream_.acknowledged(), 0)) co_return Outcome::finished;
  // From here on the agent may take as long as it needs; the session checks that it is alive.
  grace_.reset();
  const IoStatus head = co_await carrier->head_received();
  if (head != IoStatus::ok) {
    if (!carrier->lost()) stream_.abort(carrier->error());
    stream_.detach();
    co_return stream_.over() ? Outcome::finished : Outcome::connection_lost;
  }
  if (const auto pause = pause_told(carrier->head())) {
    refused(*pause);
    co_return Outcome::refused;
  }
  if (first || carrier->head().status == http_status::kOk) {
    if (!head_) head_ = carrier->take_head();
    head_event_.set();
    stream_.accept_answer();
    co_return Outcome::attached;
  }
  const Outcome outcome = co_await outcome_of(std::move(carrier));
  co_return outcome;
}

Task<ResumableRequest::Outcome> ResumableRequest::outcome_of(std::shared_ptr<Http2Stream> carrier) {
  stream_.detach();
  if (carrier->head().status == http_status::kNotFound) co_return Outcome::not_found;
  const auto refused = co_await read_answer(*carrier);
  if (carrier->lost()) co_return Outcome::connection_lost;
  stream_.abort(broken(refused ? "the agent's answer is malformed" : refused.error().why));
  co_return Outcome::finished;
}

Error ResumableRequest::broken(std::string why) const {
  return {"continue the connection to", sessions_.address(), std::move(why), {}, Cause(ECONNRESET)};
}

}  // namespace farport::router
