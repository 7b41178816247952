#include "router/tracing_session.hpp"

#include <array>

#include <sys/socket.h>

#include "ipc/error.hpp"
#include "ipc/message.hpp"
#include "router/probe.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::IoStatus;
using transport::Task;

constexpr std::size_t kAnswerSize = ipc::kHeaderSize + sizeof(std::uint64_t);

Task<void> discard(FdStream& from) {
  std::vector<std::byte> part(64 * 1024);
  for (IoStatus status = IoStatus::ok; status == IoStatus::ok;) {
    const transport::Io io = co_await from.read(part);
    status = io.status;
    co_await transport::next_turn(from.loop());
  }
}

}  // namespace

Task<std::optional<ipc::SessionId>> answered_session(FdStream& runtime) {
  std::array<std::byte, kAnswerSize> answer{};
  for (ssize_t before = 0;;) {
    co_await runtime.readable();
    const ssize_t seen = ::recv(runtime.fd(), answer.data(), answer.size(), MSG_PEEK | MSG_DONTWAIT);
    if (seen == static_cast<ssize_t>(answer.size())) break;
    // The end of the stream makes it readable without anything more in it.
    if (seen <= before) co_return std::nullopt;
    before = seen;
    runtime.found_nothing();
  }
  const auto header = ipc::decode_header(answer);
  const bool started = header && header->size == kAnswerSize && header->command() == ipc::kOk;
  if (!started) co_return std::nullopt;
  const auto id = ipc::SessionId::decode(std::span(answer).subspan(ipc::kHeaderSize));
  if (!id) co_return std::nullopt;
  co_return *id;
}

void TracingSessions::stop_all() {
  running_.for_each([this](transport::ListNode& node) {
    const auto& session = static_cast<const TracingSession&>(node);
    stopping_.spawn(TracingSession::stop(*this, session.runtime_, session.id_));
  });
}

TracingSession::TracingSession(TracingSessions& sessions, Runtime runtime, ipc::SessionId id)
    : sessions_(sessions), runtime_(std::move(runtime)), id_(id) {
  sessions_.running_.push(*this);
}

Task<void> TracingSession::abandon(FdStream& stream) {
  ++sessions_.abandoned_;
  Task<void> discarding = discard(stream);
  discarding.start();
  co_await stop(sessions_, runtime_, id_);
}

Task<void> TracingSession::stop(TracingSessions& sessions, Runtime runtime, ipc::SessionId id) {
  RuntimePort* port = sessions.registry_.port(runtime.id);
  if (port == nullptr) co_return;
  const Log log = sessions.log_;
  auto connection = co_await port->open();
  if (connection) {
    const auto answer = co_await ask(**connection, ipc::make_message(ipc::kStopTracing, id.encode()));
    if (!answer) {
      log->warn("the session {:#x} of {} could not be stopped: {}", id.value, runtime.name,
                answer.error().message());
    } else {
      log->info("stopped the session {:#x} of {} (pid {})", id.value, runtime.name, runtime.pid);
    }
  } else {
    log->warn("the session {:#x} of {} could not be stopped: {}", id.value, runtime.name,
              connection.error().message());
  }
}

}  // namespace farport::router
