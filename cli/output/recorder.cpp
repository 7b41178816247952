#include "cli/output/recorder.hpp"

#include <cerrno>
#include <csignal>

#include <fmt/core.h>

#include "cli/options/commands.hpp"
#include "cli/setup/explain.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "transport/child_process.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using transport::IoStatus;
using transport::Task;

constexpr std::size_t kPieceSize = 256 * 1024;
/// How long to wait for the end of a session whose remaining data is not needed.
constexpr transport::Milliseconds kStopLimit{300};
/// How long received data is still shown after Ctrl-C.
constexpr transport::Milliseconds kShowLimit{300};
/// How long it is shown after a recording broke off, since the last lines before a crash matter.
constexpr transport::Milliseconds kBreakLimit{5'000};
/// Time limit for the command's end after Ctrl-C.
constexpr transport::Milliseconds kLeaveLimit{450};
/// How much longer run_fallback() may run once the answer is given up.
constexpr transport::Milliseconds kWithoutLimit{30'000};
/// Time limit for resuming a suspended runtime at the end.
constexpr transport::Milliseconds kResumeLimit{1000};

}  // namespace

Recorder::Recorder(transport::Loop& loop, const router::MirroredAgent& agent,
                   const config::RecordingSettings& settings, Progress progress, Patience::Work work)
    : loop_(loop),
      settings_(settings),
      shows_(progress),
      progress_(loop),
      session_(loop, agent, settings.session,
               [this](const Error& why) { progress_.interrupted(why.message()); }),
      patience_(loop, session_, settings.patience, work,
                [this](const std::string& line) { progress_.say(line); }),
      enough_(loop),
      cut_off_(loop) {}

Task<Result<void>> RecordingSink::finish() {
  co_return Result<void>();
}

Task<void> RecordingSink::broke_off() {
  co_return;
}

Task<Result<void>> RecordingSink::run_fallback(router::SessionManager& /*sessions*/,
                                               std::string /*runtime_id*/) {
  co_return tl::unexpected(Error{});
}

Task<Result<RecordingEnd>> Recorder::run(RecordingSink& sink, transport::StopSource& stop) {
  auto result = co_await record(sink, stop);
  sink.leave();
  sink.when_enough({});
  co_await first_of(session_.leave(), stop.again());
  progress_.end();
  co_return result;
}

Task<Result<RecordingEnd>> Recorder::record(RecordingSink& sink, transport::StopSource& stop) {
  const auto opened = co_await first_of(session_.open(settings_.runtime), stop.wait());
  if (!opened) co_return tl::unexpected(interrupted("record"));
  if (!*opened) co_return tl::unexpected(opened->error());
  const router::Runtime& runtime = **opened;
  const bool suspended = runtime.state == router::RuntimeState::suspended;
  if (suspended && settings_.at_start == config::AtStart::refused)
    co_return tl::unexpected(router::is_suspended(runtime));
  const auto wanted = sink.prepare(runtime);
  if (!wanted) {
    sink.discard();
    co_return tl::unexpected(wanted.error());
  }
  if (sink.needs_no_answer(runtime)) {
    const auto told = co_await first_of(sink.run_fallback(session_.sessions(), runtime.id), stop.wait());
    if (!told) co_return tl::unexpected(interrupted("record", runtime.name));
    if (*told) co_return RecordingEnd::whole;
    progress_.say(told->error().message());
  }
  router::Recording recording(session_.sessions(), runtime.id);
  const auto begun = co_await first_of(begin(runtime, recording, *wanted, sink), stop.wait());
  if (begun && *begun && !**begun) co_return RecordingEnd::whole;
  if (!begun || !*begun) {
    sink.discard();
    if (!begun) co_return tl::unexpected(interrupted("record", runtime.name));
    co_return tl::unexpected(begun->error());
  }
  if (suspended && settings_.at_start == config::AtStart::resumed) {
    co_await first_of(resume(runtime, recording), stop.wait());
  } else if (suspended) {
    left_suspended_ = true;
    progress_.say(fmt::format(
        "{} (pid {}) is suspended at its start, and is left so: it records once it is resumed. The end of "
        "this recording resumes it, too: .NET crashes otherwise",
        runtime.name, runtime.pid));
  }
  if (shows_ == Progress::shown) progress_.begin(runtime.name, settings_.duration);
  sink.when_enough([this] { enough_.set(); });
  sink.begin(session_.sessions());
  transport::TaskSet stopping(loop_);
  stopping.spawn(stop_in_time(runtime, recording, sink, stop));
  const auto taken = co_await first_of(take_to_end(runtime, recording, sink), cut_off_.wait());
  if (!taken) co_return RecordingEnd::cut_off;
  if (!*taken) co_return tl::unexpected(taken->error());
  co_return RecordingEnd::whole;
}

Task<Result<bool>> Recorder::begin(const router::Runtime& runtime, router::Recording& recording,
                                   ipc::CollectTracing wanted, RecordingSink& sink) {
  Without without(loop_);
  transport::TaskSet meanwhile(loop_);
  meanwhile.spawn(run_fallback(runtime, sink, without));
  const auto begun =
      co_await first_of(patience_.wait(runtime, recording.begin(std::move(wanted))), without.done.wait());
  if (!begun) co_return false;
  if (*begun) co_return true;
  // The fallback that runs already needs no answer from the runtime.
  if (begun->error().cause == Cause::silence()) {
    co_await with_deadline(loop_, without.over.wait(), kWithoutLimit);
    if (without.succeeded) co_return false;
  }
  co_return tl::unexpected(begun->error());
}

Task<void> Recorder::run_fallback(const router::Runtime& runtime, RecordingSink& sink, Without& without) {
  co_await patience_.first_word();
  const Result<void> done = co_await sink.run_fallback(session_.sessions(), runtime.id);
  without.succeeded = done.has_value();
  if (done) without.done.set();
  without.over.set();
  if (!done && !done.error().why.empty()) progress_.say(done.error().message());
}

Task<void> Recorder::resume(const router::Runtime& runtime, router::Recording& recording) {
  const Result<void> resumed = co_await recording.resume();
  progress_.say(resumed ? fmt::format("{} (pid {}) was suspended at its start, and goes on now", runtime.name,
                                      runtime.pid)
                        : resumed.error().message());
}

Task<Result<void>> Recorder::take_to_end(const router::Runtime& runtime, router::Recording& recording,
                                         RecordingSink& sink) {
  auto taken = co_await take_all(recording, sink);
  if (taken && display_deadline_) {
    auto shown = co_await with_deadline(loop_, sink.finish(), kShowLimit);
    co_return shown.value_or(Result<void>());
  }
  // A runtime that sent nothing before it was told to stop has nothing to end.
  if (taken && !stopped_reading_ && end_.breaks_off() && (!stopping_ || end_.begun())) {
    taken = fail("record", runtime.name,
                 stopping_ ? "it ended before the recording was complete: it was killed, or it crashed"
                           : "it ended during the recording: it was killed, or it crashed");
  }
  // The sink's output must not share a line with the progress.
  progress_.end();
  if (taken) {
    taken = co_await sink.finish();
  } else {
    co_await with_deadline(loop_, sink.broke_off(), kBreakLimit);
  }
  co_return taken;
}

/// Decompressed data may be very large, so showing it is limited in time.
bool Recorder::has_shown_enough() const {
  return display_deadline_ && std::chrono::steady_clock::now() > *display_deadline_;
}

Task<Result<void>> Recorder::take_all(router::Recording& recording, RecordingSink& sink) {
  transport::Stream& from = recording.stream();
  const auto piece = std::make_shared<Piece>();
  piece->bytes.resize(kPieceSize);
  while (!has_shown_enough()) {
    const transport::Io got = co_await from.read(piece->bytes);
    if (got.status == IoStatus::end) co_return Result<void>();
    if (got.status == IoStatus::failed && stopped_reading_) co_return Result<void>();
    if (got.status == IoStatus::failed) co_return tl::unexpected(stop_failed_.value_or(from.error()));
    piece->size = got.bytes;
    end_.take(std::span(piece->bytes).first(got.bytes));
    CO_RETURN_IF_ERROR(co_await sink.take(piece));
    if (shows_ == Progress::shown) progress_.add(got.bytes);
  }
  co_return Result<void>();
}

Task<void> Recorder::wait_for_enough() {
  co_await enough_.wait();
}

Task<void> Recorder::wait_for_end(transport::StopSource& stop) {
  co_await first_of(wait_for_enough(), stop.wait());
}

Task<void> Recorder::stop_soon(router::Recording& recording) {
  co_await with_deadline(loop_, recording.stop(), kStopLimit);
}

Task<void> Recorder::stop_in_time(const router::Runtime& runtime, router::Recording& recording,
                                  const RecordingSink& sink, transport::StopSource& stop) {
  if (settings_.duration) {
    co_await with_deadline(loop_, wait_for_end(stop), *settings_.duration);
  } else {
    co_await wait_for_end(stop);
  }
  stopping_ = true;
  // Has no effect on a runtime that already runs.
  if (left_suspended_) co_await with_deadline(loop_, recording.resume(), kResumeLimit);
  if (!sink.wants_rest()) {
    // The agent makes the runtime stop a session that nobody reads. Received data is still shown, but after
    // Ctrl-C only for a short time.
    co_await first_of(stop_soon(recording), stop.again());
    stopped_reading_ = true;
    if (stop.stopped()) display_deadline_ = std::chrono::steady_clock::now() + kShowLimit;
    recording.stream().abort(interrupted("record", runtime.name));
    co_await stop.wait();
    co_await with_deadline(loop_, stop.again(), kLeaveLimit);
    co_return cut_off_.set();
  }
  if (shows_ == Progress::shown) progress_.note("stopping");
  const auto stopped = co_await first_of(patience_.wait(runtime, recording.stop()), stop.again());
  if (stopped && !*stopped) {
    stop_failed_ = stopped->error();
    recording.stream().abort(stopped->error());
  }
  if (stopped) co_await stop.again();
  cut_off_.set();
}

int record(const config::RecordingSettings& settings, RecordingSink& sink, transport::Loop& loop,
           Recorder::Progress progress) {
  ASSIGN_OR_REPORT(const auto agents, agents_of({settings.remote}), kUsage);
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  Recorder recorder(loop, agents.front(), settings, progress, sink.work());
  const auto recorded = loop.run(recorder.run(sink, stop));
  const Result<void> kept = sink.keep();
  if (recorded && !kept) return report(kept.error());
  if (recorded) return *recorded == RecordingEnd::whole ? kSuccess : kInterrupted;
  // Nobody reads the output any more, as with `| head`: that is success.
  if (recorded.error().cause == EPIPE) return kSuccess;
  const int code = report(recorded.error());
  print_messages(recorder.explanation());
  return code;
}

}  // namespace farport::cli
