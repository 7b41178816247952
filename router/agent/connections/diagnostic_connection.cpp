#include "router/agent/connections/diagnostic_connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <utility>

#include <fmt/core.h>
#include <poll.h>
#include <sys/socket.h>

#include "ipc/message.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "router/agent/runtimes/start_watch.hpp"
#include "router/recordings/recordings.hpp"
#include "router/stream/compressing_stream.hpp"
#include "router/stream/relay.hpp"
#include "router/wire/dump.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::Task;

constexpr std::size_t kAnswerSize = ipc::kHeaderSize + sizeof(std::uint64_t);

/// Whether the runtime will send nothing more.
bool has_ended(const FdStream& runtime) {
  pollfd state{runtime.fd(), POLLRDHUP, 0};
  return ::poll(&state, 1, 0) != 0;
}

/// Whether an answer that begins with `seen` may still say that a session has begun.
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
    // The end may have come together with these bytes, and is not reported twice; an aborted stream fails.
    if ((seen < 0 && errno != EAGAIN) || has_ended(runtime)) co_return std::nullopt;
    // An error is shorter than the expected answer.
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
  co_await end(stream);
}

Task<void> TracingSession::end(FdStream& stream) {
  Task<void> discarding = stream.discard();
  discarding.start();
  co_await stop(sessions_, runtime_, id_, stop_);
}

Task<void> TracingSession::stop(TracingSessions& sessions, RuntimePtr runtime, ipc::SessionId id,
                                std::shared_ptr<SessionStop> stop) {
  // Whoever began to stop the session may give up before the runtime is told.
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

namespace {

using transport::IoStatus;

Refusal unreachable(const Error& error) {
  return {http_status::kBadGateway, ipc::hresult::kFail, error.message()};
}

/// A runtime that has not answered after this time is asked who it is.
constexpr transport::Milliseconds kUnansweredAfter{3000};

/// How long to wait for a session with meters to begin after its tool has gone.
constexpr transport::Milliseconds kBegins{10'000};
/// How long a session waits for the end of a runtime's start.
constexpr transport::Milliseconds kStartForCaller{10'000};

/// The least room in which a runtime reports its heap: with 10 MiB, in .NET 8 and 9, some applications hardly
/// got on for minutes, since the kernel took the pages of their programs away again and again.
constexpr std::uint64_t kLeastForHeap = std::uint64_t{20} << 20;

/// The same for a session at whose end the runtime names all methods: with 5 MiB a trace of .NET 8 did so for
/// minutes, until its application was killed.
constexpr std::uint64_t kLeastForNames = std::uint64_t{8} << 20;

/// How long the session takes at most that makes a runtime name its types again.
constexpr transport::Milliseconds kNoTypes{2000};

/// Whether a runtime answers this command soon, whatever it has to do for it.
bool is_answered_soon(ipc::Command command) {
  return !ipc::is_core_dump(command) && command != ipc::kStopTracing;
}

/// Adds the bytes that the relay has carried to the audit entry, and the time to the runtime's answer to the
/// metrics. It does so when it is destroyed, however the relay ends.
struct Carried {
  AuditEntry& entry;
  Metrics& metrics;
  Traffic::Relay relay{metrics.traffic};
  transport::DurationHistogram::Clock::time_point asked = transport::DurationHistogram::Clock::now();
  transport::DurationHistogram::Clock::time_point answered{};

  ~Carried() {
    entry.to_runtime += relay.bytes.to_runtime;
    entry.to_tool += relay.bytes.to_tool;
    // Without bytes there was no answer: the wait for it also ends when the tool goes.
    if (relay.bytes.to_tool > 0) metrics.first_bytes.record(answered - asked);
  }
};

/// `what` would take more than is left in the runtime's control group.
tl::unexpected<Refusal> no_room_for(std::string_view what, const Runtime& runtime, std::uint64_t room,
                                    std::uint64_t least, std::string_view hint) {
  return tl::unexpected(
      Refusal{http_status::kConflict, ipc::hresult::kFail,
              fmt::format("{} of memory are left in the control group of {}, and {} takes {} at least: it "
                          "would hardly get on; {}",
                          mebibytes(room), runtime.name, what, mebibytes(least), hint)});
}

/// The session that a message begins, if any.
std::optional<ipc::CollectTracing> session_begun_by(const FirstMessage& first) {
  if (!ipc::is_collect_tracing(first.command())) return std::nullopt;
  auto session = ipc::CollectTracing::decode(first.command(), first.payload());
  return session ? std::optional(std::move(*session)) : std::nullopt;
}

/// The session that a message stops, if any.
std::optional<ipc::SessionId> session_stopped_by(const FirstMessage& first) {
  if (first.command() != ipc::kStopTracing) return std::nullopt;
  const auto session = ipc::SessionId::decode(first.payload());
  return session ? std::optional(*session) : std::nullopt;
}

}  // namespace

Task<tl::expected<std::unique_ptr<MemoryClaim>, Refusal>> DiagnosticConnections::fit_buffer(
    const Runtime& runtime, const ipc::CollectTracing& session, FirstMessage& first) {
  if (session.session_type != ipc::SessionType::streaming) co_return nullptr;
  const auto seen = co_await groups_.look(runtime.id);
  const auto room = seen ? groups_.left_in(*seen) : std::nullopt;
  if (!room) co_return nullptr;
  // Nobody reads while the runtime reports its heap, so that fills the buffer. Others are read as they come.
  const bool fills = asks_for_heap(session);
  if (fills && *room < kLeastForHeap)
    co_return no_room_for("reporting its heap", runtime, *room, kLeastForHeap, "raise the memory limit");
  if (session.rundown && *room < kLeastForNames)
    co_return no_room_for("naming all methods at a session's end", runtime, *room, kLeastForNames,
                          "record without (--rundown false), look from outside (farport profile --event "
                          "wall), or raise the memory limit");
  const std::uint32_t buffer = std::min(session.buffer_size_mb, buffer_within(*room));
  if (buffer < session.buffer_size_mb) {
    ipc::change_buffer_size(first.command(), std::span(first.bytes).subspan(ipc::kHeaderSize), buffer);
    log_->info("{} (pid {}) gets a buffer of {} MB instead of {} MB: its control group has {} of memory left",
               runtime.name, runtime.pid, buffer, session.buffer_size_mb, mebibytes(*room));
  }
  if (!fills) co_return nullptr;
  co_return groups_.claim(*seen, std::uint64_t{buffer} << 20);
}

Task<void> DiagnosticConnections::renew_type_names(const RuntimePtr& runtime,
                                                   const ipc::CollectTracing& session) {
  if (!asks_for_types(session) || runtime->state == RuntimeState::suspended) co_return;
  const ipc::CollectTracing without = wanted_without_types();
  const auto message = ipc::encode_message(ipc::make_message(without.version, without.encode()));
  if (!message) co_return;
  const auto opened = co_await open_runtime(runtime->id, *message);
  if (!opened) co_return;
  const transport::Deadline late(loop_, kNoTypes, [&opened] {
    (*opened)->abort(Error{"renew", "the names of types", "the runtime takes too long"});
  });
  const auto begun = co_await answered_session(**opened);
  if (!begun) co_return;
  TracingSession tracing(tracing_, runtime, *begun);
  co_await tracing.end(**opened);
}

/// Opens the runtime and sends it the message. Returns nullptr on failure; the tool has been refused then.
Task<std::unique_ptr<transport::FdStream>> DiagnosticConnections::open(AuditEntry& entry, ToolEndpoint& tool,
                                                                       std::vector<std::byte> message) {
  auto opened = co_await open_runtime(entry.runtime->id, std::move(message));
  if (opened) co_return std::move(*opened);
  entry.outcome = {Outcome::Kind::failed, opened.error().message()};
  log_->info("{} on {} for {} failed: {}", entry.command, entry.runtime->name, entry.caller,
             entry.outcome.why);
  co_await tool.refuse(unreachable(opened.error()));
  co_return nullptr;
}

/// Opens a port of the runtime and sends it a message that has passed the gate. Errors: the runtime has
/// ended, or its port can't be used.
Task<DiagnosticPort::Connection> DiagnosticConnections::open_runtime(std::string runtime_id,
                                                                     std::vector<std::byte> message) {
  DiagnosticPort* port = registry_.port(runtime_id);
  if (port == nullptr) co_return fail("reach", "the runtime " + runtime_id, "it has ended");
  CO_ASSIGN_OR_RETURN(auto runtime, co_await port->open());
  const IoStatus written = co_await runtime->write(message);
  if (written != IoStatus::ok) co_return tl::unexpected(runtime->error());
  const auto header = ipc::decode_header(message);
  if (header) suspended_.command_sent(runtime_id, port, header->command());
  co_return runtime;
}

/// Waits for the runtime's first bytes, so that the answer's head goes out with them in one record. Returns
/// the session that they announce, if any.
Task<std::optional<ipc::SessionId>> DiagnosticConnections::until_answered(const Runtime& runtime,
                                                                          ipc::Command command,
                                                                          bool reads_meters,
                                                                          transport::Stream& tool,
                                                                          transport::FdStream& opened) {
  // A session with meters that is about to begin must be stopped properly, so wait for its id a while longer.
  std::optional<transport::Deadline> limit;
  const transport::WhenGone guard(tool, [this, &limit, &opened, reads_meters] {
    if (!reads_meters) return abort_for_gone_tool(opened);
    limit.emplace(loop_, kBegins, [&opened] { abort_for_gone_tool(opened); });
  });
  std::optional<transport::Deadline> late;
  if (is_answered_soon(command)) {
    late.emplace(opened.loop(), kUnansweredAfter, [this, &runtime] { halts_.unanswered(runtime.id); });
  }
  if (ipc::is_collect_tracing(command)) {
    const auto session = co_await answered_session(opened);
    co_return session;
  }
  co_await opened.readable();
  co_return std::nullopt;
}

/// Relays both directions to their end. `session` is the one that the answer begins, if any.
Task<void> DiagnosticConnections::carry_answer(AuditEntry& entry, ToolEndpoint& tool,
                                               std::unique_ptr<transport::FdStream> opened,
                                               std::optional<ipc::SessionId> session, RelayCounts& counts,
                                               transport::BufferBudget::LazyReservation& held) {
  std::optional<TracingSession> tracing;
  if (session) tracing.emplace(tracing_, entry.runtime, *session);
  std::optional<CompressingStream> compressing;
  if (session && tool.wants_zstd(compression_)) {
    compressing.emplace(tool.stream(), compression_, compressors_);
  }
  tool.accept(compressing.has_value());
  transport::Stream& to_tool = compressing ? *compressing : tool.stream();
  const RelayOutcome outcome = co_await relay(to_tool, *opened, buffers_, held, &counts);
  if (tracing && !outcome.runtime_ended) co_await tracing->abandon(*opened);
  entry.outcome = {};
  if (outcome.broken) entry.outcome = {Outcome::Kind::broken_off, outcome.broken->message()};
  log_->debug("{} on {} (pid {}) by {}: {}", entry.command, entry.runtime->name, entry.runtime->pid,
              entry.caller, entry.outcome);
}

/// Waits until the session may be stopped (see MeterClaims). Returns false if the tool goes first: the agent
/// then stops its session as one that nobody reads.
Task<bool> DiagnosticConnections::may_stop(const Runtime& runtime, ToolEndpoint& tool,
                                           std::optional<ipc::SessionId> session) {
  if (!session) co_return true;
  transport::Event gone(loop_);
  const transport::WhenGone watch(tool.stream(), [&gone] { gone.set(); });
  const bool stoppable = co_await first_of(meters_.until_stoppable(runtime.id, *session), gone.wait());
  co_return stoppable;
}

Task<void> DiagnosticConnections::carry(const Caller& caller, tl::expected<RuntimePtr, Refusal> runtime,
                                        ToolEndpoint& tool) {
  AuditEntry entry{"command", caller};
  if (runtime) entry.runtime = *runtime;
  // Each step is a coroutine of its own. It frees its state before the next step begins, so that an idle
  // connection holds little memory.
  const Refusal* const unknown = runtime ? nullptr : &runtime.error();
  transport::BufferBudget::LazyReservation held(
      [this, &caller] { return budget_.account_of(identity_key(caller)); },
      [&tool] {
        tool.stream().abort(Error{
            "buffer data for",
            "a connection",
            "the agent's memory for buffered data is used up; read faster, or raise limits.buffered_bytes",
            {},
            Cause(ENOBUFS)});
      });
  std::optional<FirstMessage> first = co_await admission_.admit(entry, tool, unknown, held);
  if (!first) co_return;
  const AuditOnExit audited(audit_, entry, AuditOnExit::Clock::now());
  Carried carried{entry, metrics_};
  std::optional<MeterReading> reading;
  std::unique_ptr<MemoryClaim> buffer;
  if (const auto begun = session_begun_by(*first)) {
    co_await until_started(registry_, entry.runtime->id, *begun, kStartForCaller);
    auto fitted = co_await fit_buffer(*entry.runtime, *begun, *first);
    if (!fitted) {
      entry.outcome = {Outcome::Kind::failed, fitted.error().why};
      log_->info("{} on {} for {} failed: {}", entry.command, entry.runtime->name, entry.caller,
                 entry.outcome.why);
      co_await tool.refuse(std::move(fitted.error()));
      co_return;
    }
    buffer = std::move(*fitted);
    co_await renew_type_names(entry.runtime, *begun);
    reading = meter_reading(*begun);
  }
  MeterClaims::Place meters;
  if (reading) meters = co_await meters_.claim(entry.runtime->id, *reading);
  const std::optional<ipc::SessionId> stopped = session_stopped_by(*first);
  TracingSessions::Stopping stopping(stopped ? tracing_.stop_of(entry.runtime->id, *stopped) : nullptr);
  const bool goes_on = co_await may_stop(*entry.runtime, tool, stopped);
  if (!goes_on) {
    entry.outcome = {Outcome::Kind::broken_off, "the tool has gone"};
    co_return;
  }
  const std::size_t size = first->bytes.size();
  // Count only the runtime's time, without what the agent itself has waited for.
  carried.asked = transport::DurationHistogram::Clock::now();
  auto opened = co_await open(entry, tool, std::move(first->bytes));
  if (opened == nullptr) co_return;
  stopping.sent();
  held.update(0);
  carried.relay.bytes.to_runtime = size;
  const auto session =
      co_await until_answered(*entry.runtime, first->command(), reading.has_value(), tool.stream(), *opened);
  carried.answered = transport::DurationHistogram::Clock::now();
  if (session && reading) meters_.began(entry.runtime->id, *session, *reading, carried.asked);
  co_await carry_answer(entry, tool, std::move(opened), session, carried.relay.bytes, held);
}

}  // namespace farport::router
