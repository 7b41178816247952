#include "router/agent/app_metrics/app_metrics.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/escape.hpp"
#include "base/text.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/readers/reader_frames.hpp"
#include "router/readers/reading.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {

void MetricTable::take(const events::Measurement& measurement, Clock::time_point now) {
  const Key key(measurement.provider, measurement.name, measurement.tags);
  auto place = series_.find(key);
  if (place == series_.end()) {
    if (series_.size() >= most_) remove_stale(now);
    if (series_.size() >= most_) return;
    place = series_.try_emplace(key).first;
  }
  MetricSeries& series = place->second;
  series.count = measurement.total.value_or(series.count + measurement.value);
  series.sum += measurement.sum.value_or(0);
  series.last = measurement;
  series.heard = now;
}

void MetricTable::remove_stale(Clock::time_point now) {
  std::erase_if(series_, [now](const auto& each) { return now - each.second.heard > kStale; });
}

namespace {

using MeasurementKind = events::Measurement::Kind;

const char* type_of(MeasurementKind kind) {
  switch (kind) {
    case MeasurementKind::rate:
      return kCounter;
    case MeasurementKind::histogram:
      return kSummary;
    case MeasurementKind::gauge:
    case MeasurementKind::up_down:
      break;
  }
  return kGauge;
}

/// A set of labels in the order in which they are added. Only the first label of a name counts.
class Labels {
 public:
  void add(const std::string& name, std::string_view value) {
    if (value.empty() || !names_.insert(name).second) return;
    text_ += (text_.empty() ? "" : ",") + MetricsText::label(name, value);
  }
  /// Reserves a name that is written separately.
  void reserve(const std::string& name) { names_.insert(name); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string with(std::string_view name, std::string_view value) const {
    return text_ + "," + MetricsText::label(name, value);
  }

 private:
  std::set<std::string> names_;
  std::string text_;
};

Labels labels_of(const Runtime& runtime, const events::Measurement& measurement) {
  Labels labels;
  labels.add("id", runtime.id);
  labels.add("runtime", runtime.name);
  labels.add("pid", std::to_string(runtime.pid));
  labels.add("host", runtime.host);
  labels.add("pod", runtime.container.pod);
  labels.add("container", runtime.container.name);
  labels.add("meter", measurement.provider);
  labels.reserve("quantile");
  std::string_view rest = measurement.tags;
  while (!rest.empty()) {
    const std::string_view tag = take_until(rest, ',');
    const std::size_t equals = tag.find('=');
    if (equals != std::string_view::npos)
      labels.add(metric_name(tag.substr(0, equals)), tag.substr(equals + 1));
  }
  return labels;
}

}  // namespace

std::string metric_name(std::string_view text) {
  std::string name;
  for (const char c : text) name += is_letter_or_digit(c) ? c : '_';
  if (name.empty() || all_digits(name.substr(0, 1))) name.insert(0, 1, '_');
  return name;
}

void MetricFamilies::add(const Runtime& runtime, const MetricSeries& series) {
  const events::Measurement& last = series.last;
  const char* const type = type_of(last.kind);
  const std::string name = metric_name(last.name) + (last.kind == MeasurementKind::rate ? "_total" : "");
  Family& family = families_.try_emplace(name, Family{type, last.unit, {}}).first->second;
  if (family.type != type) return;
  const Labels labels = labels_of(runtime, last);
  if (last.kind != MeasurementKind::histogram) {
    family.samples.push_back(
        {"", labels.text(), last.kind == MeasurementKind::rate ? series.count : last.value});
    return;
  }
  for (const auto& [quantile, value] : last.quantiles)
    family.samples.push_back({"", labels.with("quantile", fmt::format("{}", quantile)), value});
  family.samples.push_back({"_sum", labels.text(), series.sum});
  family.samples.push_back({"_count", labels.text(), series.count});
}

std::string MetricFamilies::text() const {
  MetricsText text;
  for (const auto& [name, family] : families_) {
    const std::string unit = family.unit.empty() ? "" : ", in " + escape(family.unit);
    text.family(name, family.type, "Told by applications" + unit + ".");
    for (const Sample& sample : family.samples) text.sample(sample.value, sample.labels, sample.suffix);
  }
  return text.take();
}

namespace {

using transport::Task;

constexpr transport::Milliseconds kUntilAgain{30'000};
/// The processor time of a reader in seconds, after which a new session begins. Usual applications take some
/// milliseconds a minute.
constexpr std::uint32_t kMetricsProcessorSeconds = 3600;
/// The owner to whom the memory of all these readers is charged.
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
  // Reading goes on meanwhile, since the session must end before its connection does.
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
  co_await stop_own_session(registry_, runtime_.id, session);
}

Task<void> MetricSession::run() {
  for (;;) {
    // Reserve memory before the meters: nobody who wants the meters has to wait for this memory.
    const auto memory = co_await readers_.place_for(ReadingTask::Kind::metrics, kOwner);
    if (!memory) {
      log_->warn("cannot read the counters of {}: {}; {}; retrying", runtime_.name, memory.error().why,
                 memory.error().hint);
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
    if (!recorded) log_->warn("{}; retrying", recorded.error().message());
    co_await transport::sleep(loop_, kUntilAgain);
  }
}

Task<Result<MetricSession::HowEnded>> MetricSession::record(ReadingRequest wanted_reading) {
  const auto wanted = settings_.counters.wanted(runtime_.version, settings_.limits);
  const auto asked = MeterClaims::Clock::now();
  CO_ASSIGN_OR_RETURN(const auto session,
                      co_await begin_own_session(registry_, runtime_, "read the counters of", wanted));
  session_ = session.id;
  if (const auto reading = meter_reading(wanted)) meters_.began(runtime_.id, session.id, *reading, asked);
  transport::Event over(loop_);
  Result<void> read;
  transport::TaskSet reading(loop_);
  reading.spawn(read_to_end(*session.stream, std::move(wanted_reading), read, over));
  const bool claimed = co_await first_of(meters_.claimed(runtime_.id), over.wait());
  if (!claimed && !read) co_return tl::unexpected(read.error());
  if (!claimed) co_return HowEnded::by_itself;
  log_->info("the counters of {} (pid {}) are not collected while a caller reads its meters", runtime_.name,
             runtime_.pid);
  // Reading goes on meanwhile: the session must exist for as long as its stop is under way.
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
  CO_RETURN_IF_ERROR(reading.begin(*readers_.process));
  transport::TaskSet feeding(loop_);
  feeding.spawn(reading.pass_all_on(from));
  for (std::size_t notices = 0;;) {
    const auto frame = co_await reading.next();
    if (!frame) co_return fail("read the counters of", runtime_.name, frame.error().why);
    if (frame->kind == ReaderFrame::end) co_return Result<void>();
    if (frame->kind == ReaderFrame::notice && ++notices <= kMaxNotices)
      log_->warn("counters of {}: {}", runtime_.name, shortened(frame->text, kMaxNoticeBytes));
    if (frame->kind != ReaderFrame::measurement) continue;
    const auto measurement = decode_measurement(frame->text);
    if (!measurement)
      co_return fail("read the counters of", runtime_.name, "its reader process sent malformed data");
    table_.take(*measurement, MetricTable::Clock::now());
  }
}

namespace {

constexpr transport::Milliseconds kStopLimit = MeterClaims::kMaxHold + transport::Milliseconds(1000);
/// Further runtimes are left out. What is kept of each is bounded, and so the total is.
constexpr std::size_t kMaxRuntimes = 100;

}  // namespace

AppMetrics::AppMetrics(transport::Loop& loop, Registry& registry, MeterClaims& meters, Readers readers,
                       Log log, AppMetricsSettings settings)
    : log_(std::move(log)),
      settings_(std::move(settings)),
      kept_(loop, registry, log_, kMaxRuntimes, "the applications' metrics",
            [this, &loop, &registry, &meters, readers = std::move(readers)](const Runtime& runtime) {
              return std::make_unique<MetricSession>(loop, registry, meters, readers, log_, settings_,
                                                     runtime);
            }) {}

Task<void> AppMetrics::end() {
  return kept_.end(kStopLimit);
}

std::string AppMetrics::text(const Registry::Filter& filter) const {
  MetricFamilies families;
  const auto now = MetricTable::Clock::now();
  for (const auto& [id, kept] : kept_.all()) {
    const Runtime& runtime = kept->runtime();
    if (!filter(runtime)) continue;
    kept->table().for_each(now, [&](const MetricSeries& series) { families.add(runtime, series); });
  }
  return families.text();
}

}  // namespace farport::router
