#include "router/agent/connections/resumption_table.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/core.h>

#include "base/text.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

using transport::Http2Stream;
using transport::ResumableStream;
using transport::Task;

/// How long a tool may go on sending after its answer has ended.
constexpr transport::Milliseconds kToolsFarewell{100};

Refusal refusal(int status, std::string why) {
  return {status, ipc::hresult::kFail, std::move(why)};
}

}  // namespace

ResumableResponse::ResumableResponse(ResumptionTable& table, std::string token, std::string owner,
                                     std::shared_ptr<Http2Stream> request)
    : table_(table),
      token_(std::move(token)),
      owner_(std::move(owner)),
      request_(request->take_head()),
      stream_(table.loop_, ResumableStream::Side::answers,
              [this] { return table_.budget_.account_of(owner_); }),
      watching_carrier_(watch_carrier()) {
  stream_.resume(std::move(request), 0, 0);
  watching_carrier_.start();
}

ResumableResponse::~ResumableResponse() {
  table_.forget(*this);
}

void ResumableResponse::send_head(int status, transport::HeaderFields fields, bool body) {
  head_ = {status, std::move(fields), body};
  // The request has been handled, so its head is not needed any more.
  request_ = {};
  if (stream_.carrier() != nullptr) stream_.carrier()->respond(status, head_->fields, body);
}

void ResumableResponse::count_kept(std::size_t bytes) {
  if (!kept_) {
    kept_ = std::make_unique<transport::BufferBudget::LazyReservation>(
        [this] { return table_.budget_.account_of(owner_); },
        [this] {
          stream_.abort(
              Error{"keep an answer for",
                    "a mirror",
                    "limits.buffered_bytes of the agent is used up: the other side takes data too slowly",
                    {},
                    Cause(ENOBUFS)});
        });
  }
  kept_->update(bytes);
}

bool ResumableResponse::resume(std::shared_ptr<Http2Stream> request, std::uint64_t received,
                               std::uint64_t from) {
  // The old session may not have noticed that it is broken.
  stream_.detach();
  if (from > stream_.received()) return false;
  const std::shared_ptr<Http2Stream> carrier = request;
  if (!stream_.resume(std::move(request), received, stream_.received() - from)) return false;
  // The head may have been lost with the old session.
  if (head_) carrier->respond(head_->status, head_->fields, head_->body);
  return true;
}

Task<void> ResumableResponse::watch_carrier() {
  while (!stream_.over()) {
    co_await stream_.interrupted().wait();
    if (!stream_.waits()) {
      grace_.reset();
    } else if (!grace_) {
      grace_.emplace(table_.loop_, table_.grace_, [this] {
        expired_ = true;
        ++table_.expired_;
        const auto seconds = std::chrono::duration<double>(table_.grace_).count();
        stream_.abort(Error{"continue for",
                            "a mirror",
                            fmt::format("it was away for {:g} s", seconds),
                            {},
                            Cause(ETIMEDOUT)});
      });
    }
  }
}

Task<void> ResumableResponse::delivered() {
  if (!stream_.finishing()) co_return;
  // Most tools end by themselves once they have the answer, which takes fewer frames.
  const transport::Deadline farewell(table_.loop_, kToolsFarewell, [this] { stream_.stop_reading(); });
  co_await stream_.gone();
}

ResumptionTable::ResumptionTable(transport::Loop& loop, Log log, transport::Milliseconds grace,
                                 transport::BufferBudget& budget)
    : loop_(loop),
      log_(std::move(log)),
      grace_(grace),
      budget_(budget),
      instance_(random_token()),
      tasks_(loop) {}

bool ResumptionTable::wanted(const transport::MessageHead& request) {
  return !request.field(resumption_field::kToken).empty();
}

tl::expected<std::unique_ptr<ResumableResponse>, Refusal> ResumptionTable::begin(
    std::unique_ptr<Http2Stream>& request, const Caller& caller) {
  std::string token(request->head().field(resumption_field::kToken));
  if (!is_token(token)) {
    return tl::unexpected(refusal(http_status::kBadRequest, "the token must be 32 hexadecimal digits"));
  }
  if (responses_.contains(token)) {
    return tl::unexpected(refusal(http_status::kConflict, "there is a connection with this token already"));
  }
  auto answer =
      std::make_unique<ResumableResponse>(*this, std::move(token), identity_key(caller), std::move(request));
  responses_.emplace(answer->token_, answer.get());
  return answer;
}

std::optional<Refusal> ResumptionTable::resume(std::unique_ptr<Http2Stream>& request,
                                               const std::string& token, const Caller& caller) {
  const transport::MessageHead& head = request->head();
  // A mirror that lost its session before it learned the agent's instance has only the token.
  const std::string_view instance = head.field(resumption_field::kInstance);
  if (!instance.empty() && instance != instance_) {
    return refusal(http_status::kGone, "the agent was restarted, which no connection outlives");
  }
  const auto known = responses_.find(token);
  if (known == responses_.end() || known->second->owner_ != identity_key(caller)) return unknown(token);
  ResumableResponse& answer = *known->second;
  std::string next(head.field(resumption_field::kToken));
  const auto received = number_in<std::uint64_t>(head.field(resumption_field::kReceived));
  const auto from = number_in<std::uint64_t>(head.field(resumption_field::kFrom));
  if (!is_token(next) || responses_.contains(next) || !received || !from) {
    return refusal(http_status::kBadRequest,
                   "a new token, what was received and from where it goes on are needed");
  }
  if (!answer.resume(std::move(request), *received, *from)) {
    // Each side keeps what the other may have missed, so one of them counts wrongly.
    log_->warn("a connection of {} can't go on: it asks for bytes that can't be sent again", caller);
    answer.stream_.abort(
        Error{"continue for", "a mirror", "it asks for bytes that can't be sent again", {}, Cause(EPROTO)});
    return std::nullopt;
  }
  responses_.erase(known);
  answer.token_ = std::move(next);
  responses_.emplace(answer.token_, &answer);
  answer.grace_.reset();
  ++resumed_;
  log_->debug("a connection of {} goes on after a break", caller);
  return std::nullopt;
}

Refusal ResumptionTable::unknown(const std::string& token) const {
  const bool was_there = std::find(over_.begin(), over_.end(), token) != over_.end();
  return was_there ? refusal(http_status::kGone, "the connection is over: its mirror was away for too long")
                   : refusal(http_status::kNotFound, "there is no such connection");
}

bool ResumptionTable::end(const std::string& token, const Caller& caller) {
  const auto known = responses_.find(token);
  if (known == responses_.end() || known->second->owner_ != identity_key(caller)) return false;
  known->second->stream_.abort(
      Error{"continue for", "a mirror", "the mirror has closed the connection", {}, Cause(ECANCELED)});
  return true;
}

void ResumptionTable::end_waiting(const Error& why) {
  for (const auto& [token, answer] : responses_) {
    if (answer->waits()) answer->stream_.abort(why);
  }
}

std::size_t ResumptionTable::waiting() const {
  return static_cast<std::size_t>(std::count_if(responses_.begin(), responses_.end(),
                                                [](const auto& entry) { return entry.second->waits(); }));
}

void ResumptionTable::forget(ResumableResponse& answer) {
  responses_.erase(answer.token_);
  // Remember the token if the mirror has not heard of the end, and may ask for the answer again.
  const bool too_large = answer.stream_.error().cause == ENOBUFS;
  if (!answer.expired_ && !too_large && !answer.waits()) return;
  over_.push_back(answer.token_);
  if (over_.size() > kRemembered) over_.pop_front();
}

}  // namespace farport::router
