#include "router/agent/own_readings/own_reading.hpp"

#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "router/agent/runtimes/start_watch.hpp"
#include "router/readers/reader_frames.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;

constexpr transport::Milliseconds kUntilAgain{30'000};
/// The processor time of a reader in seconds, after which a new session begins. Usual applications take some
/// milliseconds a minute.
constexpr std::uint32_t kProcessorSeconds = 3600;

}  // namespace

OwnReading::OwnReading(transport::Loop& loop, Registry& registry, MemoryGroups& groups, Readers readers,
                       const Log& log, const OwnReadingSettings& settings, Runtime runtime, Take take,
                       std::function<void()> lost)
    : loop_(loop),
      registry_(registry),
      groups_(groups),
      readers_(std::move(readers)),
      log_(log),
      settings_(settings),
      runtime_(std::move(runtime)),
      take_(std::move(take)),
      lost_(std::move(lost)),
      doing_(fmt::format("read {} of", settings.what)),
      stopped_(loop),
      tasks_(loop) {
  tasks_.spawn(run());
}

Task<void> OwnReading::end() {
  // Reading goes on meanwhile, since the session must end before its connection does.
  co_await stop();
  tasks_.clear();
}

Task<void> OwnReading::stop() {
  while (stopping_) co_await stopped_.wait();
  if (!session_) co_return;
  stopping_ = true;
  co_await tell_to_stop(*std::exchange(session_, std::nullopt));
  stopping_ = false;
  stopped_.changed();
}

Task<void> OwnReading::tell_to_stop(ipc::SessionId session) {
  if (settings_.meters != nullptr) co_await settings_.meters->until_stoppable(runtime_.id, session);
  co_await stop_own_session(registry_, runtime_.id, session);
}

Task<void> OwnReading::run() {
  for (;;) {
    const bool gave_way = co_await read_once();
    if (!gave_way) co_await transport::sleep(loop_, kUntilAgain);
  }
}

Task<bool> OwnReading::read_once() {
  // Before anything is reserved, of which others may have need.
  co_await until_started(registry_, runtime_.id, settings_.recording(runtime_), kLongestStart);
  // Reserve memory before the meters: nobody who wants the meters has to wait for this memory.
  const auto memory = co_await readers_.place_for(settings_.kind, settings_.option, runtime_.user);
  if (!memory) {
    why_not_ = memory.error().why;
    log_->warn("cannot {} {}: {}; {}; retrying", doing_, runtime_.name, memory.error().why,
               memory.error().hint);
    co_return false;
  }
  transport::Event& needed = (*memory)->needed();
  std::optional<MeterClaims::Place> place;
  if (settings_.meters != nullptr) {
    place = co_await first_of(settings_.meters->hold(runtime_.id), needed.wait());
    if (!place) {
      note_given_back();
      co_return false;
    }
  }
  ReadingRequest wanted{{settings_.kind, (*memory)->bytes(), kProcessorSeconds}, settings_.selection};
  const Result<HowEnded> recorded = co_await record(std::move(wanted), needed);
  session_.reset();
  lost_();
  if (recorded && *recorded == HowEnded::gave_way) co_return true;
  if (recorded && *recorded == HowEnded::gave_back) {
    note_given_back();
    co_return false;
  }
  why_not_ = recorded ? "its session has ended" : recorded.error().why;
  if (!recorded) log_->warn("{}; retrying", recorded.error().message());
  co_return false;
}

void OwnReading::note_given_back() {
  why_not_ = "its user's applications had most of the memory for this, and others need it";
  log_->info("{} of {} (pid {}) are not collected for a while: {}", settings_.what, runtime_.name,
             runtime_.pid, why_not_);
}

Task<void> OwnReading::claimed() {
  // Only who reads meters is in others' way.
  transport::Event never(loop_);
  if (settings_.meters == nullptr) co_await never.wait();
  co_await settings_.meters->claimed(runtime_.id);
}

/// Waits until a caller reads the meters, or another user's runtime needs the memory. Returns which it was.
Task<OwnReading::HowEnded> OwnReading::given_up(transport::Event& needed) {
  const bool is_claimed = co_await first_of(claimed(), needed.wait());
  co_return is_claimed ? HowEnded::gave_way : HowEnded::gave_back;
}

Task<Result<OwnReading::HowEnded>> OwnReading::record(ReadingRequest wanted_reading,
                                                      transport::Event& needed) {
  const ipc::CollectTracing wanted = settings_.recording(runtime_);
  const auto asked = MeterClaims::Clock::now();
  CO_ASSIGN_OR_RETURN(const auto session,
                      co_await begin_own_session(registry_, groups_, runtime_, doing_.c_str(), wanted));
  session_ = session.id;
  why_not_.clear();
  const auto meters = meter_reading(wanted);
  if (meters && settings_.meters != nullptr) settings_.meters->began(runtime_.id, session.id, *meters, asked);
  transport::Event over(loop_);
  Result<void> how;
  transport::TaskSet reading(loop_);
  reading.spawn(read_to_end(*session.stream, std::move(wanted_reading), how, over));
  const auto gives_up = co_await first_of(given_up(needed), over.wait());
  if (!gives_up && !how) co_return tl::unexpected(how.error());
  if (!gives_up) co_return HowEnded::by_itself;
  if (*gives_up == HowEnded::gave_way) {
    why_not_ = "a caller reads its meters in another way";
    log_->info("{} of {} (pid {}) are not collected while a caller reads its meters", settings_.what,
               runtime_.name, runtime_.pid);
  }
  // Reading goes on meanwhile: the session must exist for as long as its stop is under way.
  co_await stop();
  co_return *gives_up;
}

Task<void> OwnReading::read_to_end(transport::FdStream& from, ReadingRequest wanted, Result<void>& how,
                                   transport::Event& over) {
  how = co_await read(from, std::move(wanted));
  over.set();
}

Task<Result<void>> OwnReading::read(transport::FdStream& from, ReadingRequest wanted) {
  Reading reading(loop_, std::move(wanted));
  CO_RETURN_IF_ERROR(reading.begin(*readers_.process));
  transport::TaskSet feeding(loop_);
  feeding.spawn(reading.pass_all_on(from));
  for (std::size_t notices = 0;;) {
    auto frame = co_await reading.next();
    if (!frame) co_return fail(doing_, runtime_.name, frame.error().why);
    if (frame->kind == ReaderFrame::end) co_return Result<void>();
    if (frame->kind == ReaderFrame::notice) {
      if (++notices <= kMaxNotices)
        log_->warn("{} of {}: {}", settings_.what, runtime_.name, shortened(frame->text, kMaxNoticeBytes));
      continue;
    }
    const Result<void> taken = take_(std::move(*frame));
    if (!taken) co_return fail(doing_, runtime_.name, taken.error().why);
  }
}

}  // namespace farport::router
