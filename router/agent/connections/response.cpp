#include "router/agent/connections/response.hpp"

#include "ipc/message.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/runtime.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Http2Session;
using transport::Http2Stream;
using transport::Task;

/// How long a refused session lasts: long enough to ask once and read the answer.
constexpr transport::Milliseconds kRefusing{3000};
constexpr std::uint32_t kRefusedStreams = 16;
constexpr std::uint32_t kRefusedWindow = 64 * 1024;

/// Not inlined: GCC 12 destroys the elements of an initializer list twice in a coroutine.
transport::HeaderFields refused_fields(const Refusal& refusal, std::size_t size) {
  transport::HeaderFields fields{{"content-type", kJson}, {"content-length", std::to_string(size)}};
  if (refusal.retry_after > 0) fields.emplace_back("retry-after", std::to_string(refusal.retry_after));
  const auto exactly = refusal.retry_after_exactly.count();
  if (exactly > 0) fields.emplace_back(pace_field::kRetryAfterMs, std::to_string(exactly));
  return fields;
}

Task<void> answer_and_forget(std::unique_ptr<Http2Stream> request, Refusal refusal) {
  PlainResponse response(*request);
  co_await answer_refused(response, std::move(refusal));
}

}  // namespace

Task<void> answer_refused(Response& response, Refusal refusal) {
  if (response.take_refusal(refusal)) co_return;
  const std::string body = error_json(refusal.why, refusal.hresult);
  response.send_head(refusal.status, refused_fields(refusal, body.size()), true);
  // The answer ends here even if the write fails.
  std::ignore = co_await response.stream().write_last(std::as_bytes(std::span(body)));
}

Task<void> turn_away(std::unique_ptr<transport::Stream> connection, transport::Party party, std::string why) {
  Http2Session session(std::move(connection), Http2Session::Role::server, std::move(party), {});
  session.turn_away(why);
  std::ignore = co_await session.run();
}

Task<void> refuse_session(std::unique_ptr<transport::Stream> connection, transport::Party party,
                          Refusal refusal) {
  transport::Loop& loop = connection->loop();
  transport::TaskSet requests(loop);
  transport::Http2Limits limits;
  limits.streams = kRefusedStreams;
  limits.window = kRefusedWindow;
  Http2Session::RequestHandler refuse = [&](std::unique_ptr<Http2Stream> request) {
    requests.spawn(answer_and_forget(std::move(request), refusal));
  };
  Http2Session session(std::move(connection), Http2Session::Role::server, std::move(party), limits,
                       std::move(refuse));
  const transport::Deadline end(loop, kRefusing, [&session, &refusal] {
    session.abort(Error{"continue", "the session", refusal.why});
  });
  std::ignore = co_await session.run();
  co_await requests.idle();
}

namespace {

using transport::IoStatus;

/// How long a peer may take to close after it has been sent everything.
constexpr transport::Milliseconds kLinger{5000};

}  // namespace

Task<void> RawEndpoint::refuse(Refusal refusal) {
  const ipc::Bytes answer = ipc::encode_error(refusal.hresult, has_text_ ? refusal.why : std::string());
  const IoStatus written = co_await stream_.write(answer);
  if (written == IoStatus::ok) std::ignore = co_await stream_.finish();
}

Task<void> linger(transport::Stream& stream) {
  const transport::Deadline limit(stream.loop(), kLinger, [&stream] {
    stream.abort(Error{"wait for", "the peer", "it did not close its side of the connection"});
  });
  co_await stream.discard();
}

}  // namespace farport::router
