#include "router/mirror/resumable_request.hpp"

#include <cerrno>

#include <fmt/core.h>

#include "base/random_token.hpp"
#include "router/mirror/answers.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/resumption_fields.hpp"

namespace farport::router {

using transport::Http2Stream;
using transport::IoStatus;
using transport::Task;

namespace {

/// Longer than a tool is worth keeping for a turn among others.
constexpr transport::Milliseconds kLongestTurn{60'000};

}  // namespace

ResumableRequest::ResumableRequest(AgentDialler& dialler, std::string path, transport::HeaderFields fields)
    : dialler_(dialler),
      path_(std::move(path)),
      fields_(std::move(fields)),
      stream_(dialler.loop(), transport::ResumableStream::Side::asks),
      head_event_(dialler.loop()),
      turn_(dialler.pace(), stream_.interrupted()),
      keeping_(keep()) {
  keeping_.start();
}

ResumableRequest::~ResumableRequest() {
  keeping_.reset();
  // The end of a stream that there is tells by itself.
  if (begun_ && stream_.waits()) dialler_.forget(std::move(tokens_));
}

Task<IoStatus> ResumableRequest::head_received() {
  while (!head_ && !stream_.over()) co_await head_event_.wait();
  co_return head_ ? IoStatus::ok : IoStatus::failed;
}

Task<void> ResumableRequest::keep() {
  while (!stream_.over()) {
    if (dialler_.session() != nullptr && !turn_.is_now()) {
      limit_turn();
      turn_.line_up();
      while (!turn_.is_now() && !stream_.over()) co_await stream_.interrupted().wait();
      continue;
    }
    limit_waiting();
    const std::shared_ptr<AgentSession> session = dialler_.session();
    Try outcome = Try::lost;
    if (session != nullptr) outcome = co_await ask(session);
    if (outcome == Try::carried) {
      carried_in_ = session;
      grace_.reset();
      turn_limit_.reset();
      while (!stream_.waits() && !stream_.over()) co_await stream_.interrupted().wait();
    } else if (outcome == Try::lost && session == dialler_.session()) {
      co_await dialler_.session_changed().wait();
    }
  }
  head_event_.set();
}

void ResumableRequest::limit_waiting() {
  if (grace_) return;
  grace_.emplace(dialler_.loop(), dialler_.options().grace, [this] {
    const auto seconds = std::chrono::duration<double>(dialler_.options().grace).count();
    stream_.abort(broken(fmt::format("the session broke and did not come back within {:g} s", seconds)));
    head_event_.set();
  });
}

void ResumableRequest::limit_turn() {
  // The agent is there: it only has much to do for us.
  grace_.reset();
  if (turn_limit_) return;
  turn_limit_.emplace(dialler_.loop(), kLongestTurn, [this] {
    stream_.abort(Error{"use", dialler_.address(),
                        "limits.requests_per_second of the agent left it no turn within a minute",
                        "ask less often, or raise that limit", http_status::kTooManyRequests});
    head_event_.set();
  });
}

void ResumableRequest::refused(transport::Milliseconds pause) {
  stream_.detach();
  turn_.refused(pause);
}

Task<ResumableRequest::Try> ResumableRequest::ask(std::shared_ptr<AgentSession> session) {
  Try outcome = Try::unknown;
  turn_.sent();
  if (begun_) {
    // A try whose answer was lost may have brought the agent a new token.
    const std::vector<std::string> candidates = tokens_;
    for (const std::string& token : candidates) {
      outcome = co_await resume(*session, token);
      if (outcome != Try::unknown) co_return outcome;
    }
  }
  // Only what no agent has heard of can be asked anew.
  if (head_ || stream_.acknowledged() > 0) {
    stream_.abort(broken("the agent knows it no more"));
    co_return Try::over;
  }
  outcome = co_await begin(session);
  co_return outcome;
}

Task<ResumableRequest::Try> ResumableRequest::begin(std::shared_ptr<AgentSession> session) {
  tokens_.clear();
  tokens_.push_back(random_token());
  transport::HeaderFields fields = fields_;
  fields.emplace_back(resumption_field::kToken, tokens_.front());
  std::shared_ptr<Http2Stream> carrier = session->request("POST", path_, true, fields);
  if (carrier == nullptr) co_return Try::lost;
  begun_ = true;
  begun_in_ = std::move(session);
  const Try outcome = co_await attach(std::move(carrier), true);
  // Its token has not been looked at.
  if (outcome == Try::refused) begun_ = false;
  co_return outcome;
}

Task<ResumableRequest::Try> ResumableRequest::resume(AgentSession& session, std::string token) {
  std::string next = random_token();
  transport::HeaderFields fields;
  fields.emplace_back(resumption_field::kToken, next);
  if (!begun_in_->instance().empty()) {
    fields.emplace_back(resumption_field::kInstance, begun_in_->instance());
  }
  fields.emplace_back(resumption_field::kReceived, std::to_string(stream_.received()));
  fields.emplace_back(resumption_field::kFrom, std::to_string(stream_.acknowledged()));
  std::shared_ptr<Http2Stream> carrier = session.request("POST", "/v1/connections/" + token, true, fields);
  if (carrier == nullptr) co_return Try::lost;
  tokens_.insert(tokens_.begin(), next);
  const Try outcome = co_await attach(std::move(carrier), false);
  if (outcome == Try::unknown || outcome == Try::refused) std::erase(tokens_, next);
  if (outcome == Try::carried) tokens_ = {std::move(next)};
  co_return outcome;
}

Task<ResumableRequest::Try> ResumableRequest::attach(std::shared_ptr<Http2Stream> carrier, bool first) {
  if (!stream_.resume(carrier, stream_.acknowledged(), 0)) co_return Try::over;
  // The agent may take as long as it needs; that it is there at all, the session looks after.
  grace_.reset();
  const IoStatus head = co_await carrier->head_received();
  if (head != IoStatus::ok) {
    if (!carrier->lost()) stream_.abort(carrier->error());
    stream_.detach();
    co_return stream_.over() ? Try::over : Try::lost;
  }
  if (const auto pause = pause_told(carrier->head())) {
    refused(*pause);
    co_return Try::refused;
  }
  if (first || carrier->head().status == http_status::kOk) {
    if (!head_) head_ = carrier->take_head();
    head_event_.set();
    stream_.accept_answer();
    co_return Try::carried;
  }
  const Try outcome = co_await judge(std::move(carrier));
  co_return outcome;
}

Task<ResumableRequest::Try> ResumableRequest::judge(std::shared_ptr<Http2Stream> carrier) {
  stream_.detach();
  if (carrier->head().status == http_status::kNotFound) co_return Try::unknown;
  const auto refused = co_await read_answer(*carrier);
  if (carrier->lost()) co_return Try::lost;
  stream_.abort(broken(refused ? "the agent answers nonsense" : refused.error().why));
  co_return Try::over;
}

Error ResumableRequest::broken(std::string why) const {
  return {"go on with the connection to", dialler_.address(), std::move(why), {}, ECONNRESET};
}

}  // namespace farport::router
