#include "router/agent/app_metrics/metric_session.hpp"

#include "events/measurement_lines.hpp"
#include "ipc/error.hpp"
#include "nettrace/reader.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

constexpr transport::Milliseconds kUntilAgain{30'000};
constexpr std::size_t kMetricsPieceBytes = 16 * 1024;

tl::unexpected<Error> refused(const Runtime& runtime, const ipc::Message& answer) {
  const auto why = ipc::decode_error(answer);
  return fail("read the counters of", runtime.name, why ? why->message() : why.error().message());
}

}  // namespace

MetricSession::MetricSession(transport::Loop& loop, Registry& registry, const Log& log,
                             const AppMetricsSettings& settings, Runtime runtime)
    : loop_(loop),
      registry_(registry),
      log_(log),
      settings_(settings),
      runtime_(std::move(runtime)),
      table_(settings.limits.most_series),
      tasks_(loop) {
  tasks_.spawn(run());
}

Task<void> MetricSession::end() {
  tasks_.clear();
  if (!session_) co_return;
  auto connection = co_await open_port();
  if (!connection) co_return;
  std::ignore = co_await ask(**connection, ipc::make_message(ipc::kStopTracing, session_->encode()));
}

Task<void> MetricSession::run() {
  for (;;) {
    const Result<void> recorded = co_await record();
    session_.reset();
    table_.clear();
    if (!recorded) log_->warn("{}; it is tried again", recorded.error().message());
    co_await transport::sleep(loop_, kUntilAgain);
  }
}

Task<Result<void>> MetricSession::record() {
  auto connection = co_await open_port();
  if (!connection) co_return tl::unexpected(connection.error());
  CounterSelection selection = settings_.counters;
  const auto wanted = selection.wanted(runtime_.version, settings_.limits);
  const auto answer = co_await ask(**connection, ipc::make_message(wanted.version, wanted.encode()));
  if (!answer) co_return tl::unexpected(answer.error());
  if (!ipc::is_ok(*answer)) co_return refused(runtime_, *answer);
  const auto session = ipc::SessionId::decode(answer->payload);
  if (!session) co_return tl::unexpected(session.error());
  session_ = *session;
  const Result<void> read = co_await read_values(**connection, selection);
  co_return read;
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
