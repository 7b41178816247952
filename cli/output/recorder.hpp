// Recorder: makes a remote runtime record, for all commands that use its events.
#pragma once

#include <optional>

#include "cli/output/recording_sink.hpp"
#include "cli/setup/patience.hpp"
#include "cli/setup/runtime_session.hpp"
#include "cli/terminal/live_region.hpp"
#include "nettrace/framing.hpp"
#include "router/collect/recording.hpp"

namespace farport::cli {

/// How a recording ended.
enum class RecordingEnd : std::uint8_t {
  whole,    ///< The runtime ended, or was stopped and has sent everything.
  cut_off,  ///< It ended before that.
};

class Recorder {
 public:
  /// Whether to show progress on a terminal; hidden if the data itself is shown.
  enum class Progress : std::uint8_t { shown, hidden };

  /// All arguments must outlive the recorder.
  Recorder(transport::Loop& loop, const router::MirroredAgent& agent,
           const config::RecordingSettings& settings, Progress progress, Patience::Work work);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Records until the duration is over, the runtime ends, the sink has enough, or `stop` is set; a second
  /// stop ends it at once. Fails if the runtime isn't found (ESRCH), does not answer (Cause::silence()),
  /// refuses or is killed, or with the sink's error.
  transport::Task<Result<RecordingEnd>> run(RecordingSink& sink, transport::StopSource& stop);
  /// Why the runtime may not have been found; see RuntimeSession.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return session_.explanation(); }

 private:
  transport::Task<Result<RecordingEnd>> record(RecordingSink& sink, transport::StopSource& stop);
  /// Starts the recording. Returns false if the sink has produced its result without the runtime's answer.
  transport::Task<Result<bool>> begin(const router::Runtime& runtime, router::Recording& recording,
                                      ipc::CollectTracing wanted, RecordingSink& sink);
  /// State of the sink's fallback without an answer.
  struct Without {
    explicit Without(transport::Loop& loop) : done(loop), over(loop) {}
    transport::Event done;
    transport::Event over;  ///< Succeeded, failed or not wanted.
    bool succeeded = false;
  };
  transport::Task<void> run_fallback(const router::Runtime& runtime, RecordingSink& sink, Without& without);
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
  RuntimeSession session_;  ///< Outlives the work, so that the agent can be told when it is cancelled.
  Patience patience_;
  transport::Event enough_;  ///< Set when the sink has enough.
  transport::Event cut_off_;
  nettrace::EndWatch end_;
  bool stopping_ = false;         ///< The runtime was asked to stop.
  bool stopped_reading_ = false;  ///< The runtime's output is no longer read.
  /// After Ctrl-C: when to stop showing received data.
  std::optional<std::chrono::steady_clock::time_point> display_deadline_;
  bool left_suspended_ = false;  ///< The runtime was suspended at startup and stays so.
  std::optional<Error> stop_failed_;
};

/// Runs a recorder for a command. Ctrl-C stops it; errors are reported. Returns the exit code.
int record(const config::RecordingSettings& settings, RecordingSink& sink, transport::Loop& loop,
           Recorder::Progress progress);

}  // namespace farport::cli
