// Has a remote runtime record: what all commands do that look at its events.
#pragma once

#include <optional>

#include "cli/output/recording_sink.hpp"
#include "cli/setup/patience.hpp"
#include "cli/setup/runtime_session.hpp"
#include "cli/terminal/live_region.hpp"
#include "nettrace/framing.hpp"
#include "router/collect/recording.hpp"

namespace farport::cli {

/// How a recording has ended.
enum class RecordingEnd : std::uint8_t {
  whole,    ///< The runtime has come to its end, or has been stopped and has said all it had to say.
  cut_off,  ///< It was ended before that.
};

class Recorder {
 public:
  /// How far it is: shown where there is a terminal, or what comes is shown itself.
  enum class Progress : std::uint8_t { shown, hidden };

  /// All must outlive the recorder.
  Recorder(transport::Loop& loop, const router::MirroredAgent& agent,
           const config::RecordingSettings& settings, Progress progress, Patience::Work work);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Records until the time is over, the runtime ends, the sink has enough, or it is stopped; stopped once
  /// more it ends at once. Errors: the runtime isn't found (ESRCH), does not answer (Cause::silence()),
  /// refuses, or is killed, or the sink's.
  transport::Task<Result<RecordingEnd>> run(RecordingSink& sink, transport::StopSource& stop);
  /// Why the runtime may not have been found: see RuntimeSession.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return session_.explanation(); }

 private:
  transport::Task<Result<RecordingEnd>> record(RecordingSink& sink, transport::StopSource& stop);
  /// Whether the runtime records; if not, the sink has done without.
  transport::Task<Result<bool>> begin(const router::Runtime& runtime, router::Recording& recording,
                                      ipc::CollectTracing wanted, RecordingSink& sink);
  /// What is done without an answer.
  struct Without {
    explicit Without(transport::Loop& loop) : done(loop), over(loop) {}
    transport::Event done;
    transport::Event over;  ///< Done, or not to be done.
    bool succeeded = false;
  };
  transport::Task<void> do_without_answer(const router::Runtime& runtime, RecordingSink& sink,
                                          Without& without);
  transport::Task<void> resume(const router::Runtime& runtime, router::Recording& recording);
  [[nodiscard]] bool has_shown_enough() const;
  transport::Task<Result<void>> take_all(router::Recording& recording, RecordingSink& sink);
  transport::Task<Result<void>> take_to_end(const router::Runtime& runtime, router::Recording& recording,
                                            RecordingSink& sink);
  transport::Task<void> wait_for_enough();
  transport::Task<void> wait_for_end(transport::StopSource& stop);
  transport::Task<void> stop_soon(router::Recording& recording);
  transport::Task<void> stop_in_time(const router::Runtime& runtime, router::Recording& recording,
                                     const RecordingSink& sink, transport::StopSource& stop);

  transport::Loop& loop_;
  const config::RecordingSettings& settings_;
  Progress shows_;
  ProgressLine progress_;
  RuntimeSession session_;  ///< Outlives the work, so that the agent can be told when that is cancelled.
  Patience patience_;
  transport::Event enough_;  ///< Set once the sink has it.
  transport::Event cut_off_;
  nettrace::EndWatch end_;
  bool stopping_ = false;  ///< The runtime has been asked to.
  bool has_left_ = false;  ///< Nobody reads what the runtime says from now on.
  /// Until when what has come is still shown, after Ctrl-C.
  std::optional<std::chrono::steady_clock::time_point> shows_until_;
  bool left_suspended_ = false;  ///< At its start, where it was when this began.
  std::optional<Error> stop_failed_;
};

/// Runs a recorder for a command: Ctrl-C stops it, and errors are reported. Returns the exit code.
int record(const config::RecordingSettings& settings, RecordingSink& sink, transport::Loop& loop,
           Recorder::Progress progress);

}  // namespace farport::cli
