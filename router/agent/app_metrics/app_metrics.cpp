#include "router/agent/app_metrics/app_metrics.hpp"

#include <utility>

#include "ipc/error.hpp"
#include "router/agent/app_metrics/metric_series.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "router/readers/reader_frames.hpp"
#include "router/readers/reading.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

constexpr transport::Milliseconds kUntilAgain{30'000};
/// After which it begins anew. Usual applications take some milliseconds a minute.
constexpr std::uint32_t kMetricsProcessorSeconds = 3600;
/// Whose memory readers of all these use.
constexpr const char* kOwner = "--app-metrics";

}  // namespace

MetricSession::MetricSession(transport::Loop& loop, Registry& registry, MeterClaims& meters, Readers readers,
                             const Log& log, const AppMetricsSettings& settings, Runtime runtime)
    : loop_(loop),
      registry_(registry),
      meters_(meters),
      readers_(std::move(readers)),
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
    // Before the meters are held: who wants those does not wait for what only waits.
    const auto memory = co_await readers_.place_for(ReadingTask::Kind::metrics, kOwner);
    if (!memory) {
      log_->warn("cannot read the counters of {}: {}; {}; it is tried again", runtime_.name,
                 memory.error().why, memory.error().hint);
      co_await transport::sleep(loop_, kUntilAgain);
      continue;
    }
    MeterClaims::Place place = co_await meters_.hold(runtime_.id);
    ReadingRequest wanted{{ReadingTask::Kind::metrics, (*memory)->bytes(), kMetricsProcessorSeconds},
                          settings_.names};
    const Result<HowEnded> recorded = co_await record(std::move(wanted));
    session_.reset();
    table_.clear();
    place.reset();
    if (recorded && *recorded == HowEnded::gave_way) continue;
    if (!recorded) log_->warn("{}; it is tried again", recorded.error().message());
    co_await transport::sleep(loop_, kUntilAgain);
  }
}

Task<Result<MetricSession::HowEnded>> MetricSession::record(ReadingRequest wanted_reading) {
  auto connection = co_await open_port();
  if (!connection) co_return tl::unexpected(connection.error());
  const auto wanted = settings_.counters.wanted(runtime_.version, settings_.limits);
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
  reading.spawn(read_to_end(**connection, std::move(wanted_reading), read, over));
  const bool claimed = co_await first_of(meters_.claimed(runtime_.id), over.wait());
  if (!claimed && !read) co_return tl::unexpected(read.error());
  if (!claimed) co_return HowEnded::by_itself;
  log_->info("the counters of {} (pid {}) are left to a caller who reads them", runtime_.name, runtime_.pid);
  // It is read on meanwhile: the session must be there for as long as its number is asked to be stopped.
  co_await stop();
  co_return HowEnded::gave_way;
}

Task<void> MetricSession::read_to_end(transport::FdStream& from, ReadingRequest wanted, Result<void>& how,
                                      transport::Event& over) {
  how = co_await read_values(from, std::move(wanted));
  over.set();
}

Task<Result<void>> MetricSession::read_values(transport::FdStream& from, ReadingRequest wanted) {
  Reading reading(loop_, std::move(wanted));
  const Result<void> begun = reading.begin(*readers_.process);
  if (!begun) co_return begun;
  transport::TaskSet feeding(loop_);
  feeding.spawn(reading.pass_all_on(from));
  for (std::size_t notices = 0;;) {
    const auto frame = co_await reading.next();
    if (!frame) co_return fail("read the counters of", runtime_.name, frame.error().why);
    if (frame->kind == ReaderFrame::end) co_return Result<void>();
    if (frame->kind == ReaderFrame::notice && ++notices <= kMostNotices)
      log_->warn("counters of {}: {}", runtime_.name, frame->text.substr(0, kMostNoticeBytes));
    if (frame->kind != ReaderFrame::measurement) continue;
    const auto measurement = decode_measurement(frame->text);
    if (!measurement)
      co_return fail("read the counters of", runtime_.name, "its reader has sent something malformed");
    table_.take(*measurement, MetricTable::Clock::now());
  }
}

Task<DiagnosticPort::Connection> MetricSession::open_port() {
  DiagnosticPort* const port = registry_.port(runtime_.id);
  if (port == nullptr) co_return fail("read the counters of", runtime_.name, "it has ended");
  auto opened = co_await port->open();
  co_return opened;
}

namespace {

constexpr transport::Milliseconds kStopLimit = MeterClaims::kMostHold + transport::Milliseconds(1000);
/// Runtimes beyond that are left out: what is kept of each is bounded, and so is all.
constexpr std::size_t kMostRuntimes = 100;

}  // namespace

AppMetrics::AppMetrics(transport::Loop& loop, Registry& registry, MeterClaims& meters, Readers readers,
                       Log log, AppMetricsSettings settings)
    : loop_(loop),
      registry_(registry),
      meters_(meters),
      readers_(std::move(readers)),
      log_(std::move(log)),
      settings_(std::move(settings)) {}

Task<void> AppMetrics::run() {
  const auto watch = registry_.watch();
  for (;;) {
    const std::optional<RuntimeEvent> event = co_await watch->next();
    if (!event) co_return;
    const Runtime& runtime = event->runtime;
    if (event->kind == RuntimeEvent::Kind::listed) continue;
    if (event->kind == RuntimeEvent::Kind::removed) {
      // They may be about to end.
      if (!ended_) kept_.erase(runtime.id);
    } else if (runtime.state == RuntimeState::running && !ended_) {
      begin(runtime);
    }
  }
}

void AppMetrics::begin(const Runtime& runtime) {
  const auto known = kept_.find(runtime.id);
  if (known != kept_.end()) return known->second->change(runtime);
  if (kept_.size() == kMostRuntimes) {
    log_->warn("{} (pid {}) is left out of the applications' metrics: there are {} already", runtime.name,
               runtime.pid, kMostRuntimes);
    return;
  }
  kept_.emplace(runtime.id, std::make_unique<MetricSession>(loop_, registry_, meters_, readers_, log_,
                                                            settings_, runtime));
}

Task<void> AppMetrics::end() {
  ended_ = true;
  transport::TaskSet ending(loop_);
  for (const auto& [id, kept] : kept_) ending.spawn(kept->end());
  co_await with_deadline(loop_, ending.idle(), kStopLimit);
}

std::string AppMetrics::text(const Registry::Filter& filter) const {
  MetricFamilies families;
  const auto now = MetricTable::Clock::now();
  for (const auto& [id, kept] : kept_) {
    const Runtime& runtime = kept->runtime();
    if (!filter(runtime)) continue;
    kept->table().for_each(now, [&](const MetricSeries& series) { families.add(runtime, series); });
  }
  return families.text();
}

}  // namespace farport::router
