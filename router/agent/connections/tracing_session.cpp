#include "router/agent/connections/tracing_session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include <poll.h>
#include <sys/socket.h>

#include "ipc/error.hpp"
#include "ipc/message.hpp"
#include "router/agent/runtimes/probe.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::Task;

constexpr std::size_t kAnswerSize = ipc::kHeaderSize + sizeof(std::uint64_t);

/// Whether the runtime sends nothing more.
bool has_ended(const FdStream& runtime) {
  pollfd state{runtime.fd(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) != 0;
}

/// Whether an answer of which this much has come may still say that a session has begun.
bool may_begin_session(std::span<const std::byte> seen) {
  if (seen.size() < ipc::kHeaderSize) return true;
  const auto header = ipc::decode_header(seen);
  return header && header->size == kAnswerSize && header->command() == ipc::kOk;
}

}  // namespace

Task<std::optional<ipc::SessionId>> answered_session(FdStream& runtime) {
  std::array<std::byte, kAnswerSize> answer{};
  for (;;) {
    co_await runtime.readable();
    const ssize_t seen = ::recv(runtime.fd(), answer.data(), answer.size(), MSG_PEEK | MSG_DONTWAIT);
    if (seen == static_cast<ssize_t>(answer.size())) break;
    // An end that came together with what is seen won't be told of again; a stream that was aborted has none.
    if ((seen < 0 && errno != EAGAIN) || has_ended(runtime)) co_return std::nullopt;
    // An error is shorter than the answer that is waited for.
    const auto size = static_cast<std::size_t>(std::max<ssize_t>(seen, 0));
    if (!may_begin_session(std::span(answer).first(size))) co_return std::nullopt;
    runtime.found_nothing();
  }
  if (!may_begin_session(answer)) co_return std::nullopt;
  const auto id = ipc::SessionId::decode(std::span(answer).subspan(ipc::kHeaderSize));
  if (!id) co_return std::nullopt;
  co_return *id;
}

void TracingSessions::stop_all() {
  running_.for_each([this](transport::ListNode& node) {
    auto& session = static_cast<TracingSession&>(node);
    stopping_.spawn(TracingSession::stop(*this, session.runtime_, session.id_, session.stop_));
  });
}

std::shared_ptr<SessionStop> TracingSessions::stop_of(const std::string& runtime_id, ipc::SessionId id) {
  std::shared_ptr<SessionStop> found;
  running_.for_each([&](transport::ListNode& node) {
    auto& session = static_cast<TracingSession&>(node);
    if (session.id_.value == id.value && session.runtime_->id == runtime_id) found = session.stop_;
  });
  return found;
}

TracingSessions::Stopping::Stopping(std::shared_ptr<SessionStop> stop) : stop_(std::move(stop)) {
  if (stop_ != nullptr && stop_->begun) stop_.reset();
  if (stop_ != nullptr) stop_->begun = true;
}

TracingSessions::Stopping::~Stopping() {
  if (stop_ == nullptr) return;
  (sent_ ? stop_->done : stop_->begun) = sent_;
  stop_->changed.changed();
}

TracingSession::TracingSession(TracingSessions& sessions, RuntimePtr runtime, ipc::SessionId id)
    : sessions_(sessions),
      runtime_(std::move(runtime)),
      id_(id),
      stop_(std::make_shared<SessionStop>(sessions.loop_)) {
  sessions_.running_.push(*this);
}

Task<void> TracingSession::abandon(FdStream& stream) {
  if (!stop_->begun) ++sessions_.abandoned_;
  Task<void> discarding = stream.discard();
  discarding.start();
  co_await stop(sessions_, runtime_, id_, stop_);
}

Task<void> TracingSession::stop(TracingSessions& sessions, RuntimePtr runtime, ipc::SessionId id,
                                std::shared_ptr<SessionStop> stop) {
  // A caller who wanted to may have gone before it had the runtime told.
  while (stop->begun && !stop->done) co_await stop->changed.wait();
  if (stop->done) co_return;
  TracingSessions::Stopping ours(stop);
  ours.sent();
  co_await tell(sessions, std::move(runtime), id);
}

Task<void> TracingSession::tell(TracingSessions& sessions, RuntimePtr runtime, ipc::SessionId id) {
  co_await sessions.meters_.until_stoppable(runtime->id, id);
  DiagnosticPort* port = sessions.registry_.port(runtime->id);
  if (port == nullptr) co_return;
  const Log log = sessions.log_;
  auto connection = co_await port->open();
  if (connection) {
    const auto answer = co_await ask(**connection, ipc::make_message(ipc::kStopTracing, id.encode()));
    if (!answer) {
      log->warn("the session {:#x} of {} could not be stopped: {}", id.value, runtime->name,
                answer.error().message());
    } else {
      log->info("stopped the session {:#x} of {} (pid {})", id.value, runtime->name, runtime->pid);
    }
  } else {
    log->warn("the session {:#x} of {} could not be stopped: {}", id.value, runtime->name,
              connection.error().message());
  }
}

}  // namespace farport::router
