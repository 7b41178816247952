#include "router/agent/app_metrics/metric_session.hpp"

#include <utility>

#include "events/measurement_lines.hpp"
#include "ipc/error.hpp"
#include "nettrace/reader.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

constexpr transport::Milliseconds kUntilAgain{30'000};
constexpr std::size_t kMetricsPieceBytes = 16 * 1024;

}  // namespace

MetricSession::MetricSession(transport::Loop& loop, Registry& registry, MeterClaims& meters, const Log& log,
                             const AppMetricsSettings& settings, Runtime runtime)
    : loop_(loop),
      registry_(registry),
      meters_(meters),
      log_(log),
      settings_(settings),
      runtime_(std::move(runtime)),
      table_(settings.limits.most_series),
      stopped_(loop),
      tasks_(loop) {
  tasks_.spawn(run());
}

Task<void> MetricSession::end() {
  // It is read on meanwhile, for the session must end before its connection does.
  co_await stop();
  tasks_.clear();
}

Task<void> MetricSession::stop() {
  while (stopping_) co_await stopped_.wait();
  if (!session_) co_return;
  stopping_ = true;
  co_await tell_to_stop(*std::exchange(session_, std::nullopt));
  stopping_ = false;
  stopped_.changed();
}

Task<void> MetricSession::tell_to_stop(ipc::SessionId session) {
  co_await meters_.until_stoppable(runtime_.id, session);
  auto connection = co_await open_port();
  if (!connection) co_return;
  std::ignore = co_await ask(**connection, ipc::make_message(ipc::kStopTracing, session.encode()));
}

Task<void> MetricSession::run() {
  for (;;) {
    MeterClaims::Place place = co_await meters_.hold(runtime_.id);
    const Result<HowEnded> recorded = co_await record();
    session_.reset();
    table_.clear();
    place.reset();
    if (recorded && *recorded == HowEnded::gave_way) continue;
    if (!recorded) log_->warn("{}; it is tried again", recorded.error().message());
    co_await transport::sleep(loop_, kUntilAgain);
  }
}

Task<Result<MetricSession::HowEnded>> MetricSession::record() {
  auto connection = co_await open_port();
  if (!connection) co_return tl::unexpected(connection.error());
  CounterSelection selection = settings_.counters;
  const auto wanted = selection.wanted(runtime_.version, settings_.limits);
  const auto asked = MeterClaims::Clock::now();
  const auto answer = co_await ask(**connection, ipc::make_message(wanted.version, wanted.encode()));
  if (!answer) co_return tl::unexpected(answer.error());
  const Result<void> outcome = ipc::outcome_of(*answer, wanted.version);
  if (!outcome) co_return fail("read the counters of", runtime_.name, outcome.error().why);
  const auto session = ipc::SessionId::decode(answer->payload);
  if (!session) co_return tl::unexpected(session.error());
  session_ = *session;
  if (const auto reading = meter_reading(wanted)) meters_.began(runtime_.id, *session, *reading, asked);
  transport::Event over(loop_);
  Result<void> read;
  transport::TaskSet reading(loop_);
  reading.spawn(read_to_end(**connection, selection, read, over));
  const bool claimed = co_await first_of(meters_.claimed(runtime_.id), over.wait());
  if (!claimed && !read) co_return tl::unexpected(read.error());
  if (!claimed) co_return HowEnded::by_itself;
  log_->info("the counters of {} (pid {}) are left to a caller who reads them", runtime_.name, runtime_.pid);
  // It is read on meanwhile: the session must be there for as long as its number is asked to be stopped.
  co_await stop();
  co_return HowEnded::gave_way;
}

Task<void> MetricSession::read_to_end(transport::FdStream& from, CounterSelection& selection,
                                      Result<void>& how, transport::Event& over) {
  how = co_await read_values(from, selection);
  over.set();
}

Task<Result<void>> MetricSession::read_values(transport::FdStream& from, CounterSelection& selection) {
  events::MeasurementReader values(
      kMeterSession, [&selection](const events::Measurement& each) { return selection.takes(each); });
  nettrace::Reader reader(values);
  std::vector<std::byte> piece(kMetricsPieceBytes);
  for (;;) {
    const transport::Io got = co_await from.read(piece);
    if (got.status == transport::IoStatus::failed) co_return tl::unexpected(from.error());
    if (got.status == transport::IoStatus::end) co_return Result<void>();
    const Result<void> fed = reader.feed(std::span(piece).first(got.bytes));
    const auto now = MetricTable::Clock::now();
    for (const events::Measurement& each : values.take()) table_.take(each, now);
    for (const std::string& notice : values.take_notices())
      log_->warn("counters of {}: {}", runtime_.name, notice);
    if (!fed) co_return fed;
  }
}

Task<DiagnosticPort::Connection> MetricSession::open_port() {
  DiagnosticPort* const port = registry_.port(runtime_.id);
  if (port == nullptr) co_return fail("read the counters of", runtime_.name, "it has ended");
  auto opened = co_await port->open();
  co_return opened;
}

}  // namespace farport::router
