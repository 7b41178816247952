// The API's requests for what the recorder has recorded, of runtimes that run and of those that have ended.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "router/agent/api/caller_session.hpp"
#include "router/agent/api/sending.hpp"
#include "router/agent/artifacts/artifacts.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/agent/recorder/recent_files.hpp"
#include "router/readers/reader_process.hpp"
#include "router/wire/artifact.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// A header field of the answer: "samples" if it was sent without them because no reader could join them.
inline constexpr const char* kRecentLost = "farport-recent-lost";

class RecentRequests {
 public:
  using Clock = RecentBlocks::Clock;
  /// What a runtime has reported since then, with samples or without; nothing if nothing is kept.
  using FilesOf =
      std::function<transport::Task<std::optional<RecentFiles>>(const Runtime&, Clock::time_point, bool)>;
  /// What to send.
  struct Sources {
    NextPiece events;
    NextPiece samples{};
    std::vector<NextPiece> names{};
  };

  /// `files_of` is null if there is no recorder.
  RecentRequests(transport::Loop& loop, FilesOf files_of, Readers readers, Log log, Audit& audit);

  /// POST /v1/runtimes/{id}/recent. `runtime` is the one that the route names, or why there is none.
  Handled take(Answer& answer, Route route, const Caller& caller, tl::expected<RuntimePtr, Refusal> runtime);
  /// Sends the content of a crash. Refused if too many answers are under way.
  Handled send_crash(Answer& answer, const FilePlace& file_place, Artifacts::Opened opened,
                     const Artifact& crash, AuditEntry& entry);

 private:
  Handled send(Answer& answer, Route route, RuntimePtr runtime, AuditEntry& entry);
  using MakeSources = std::function<Sources()>;
  /// Sends the recording with all that there is, or else without samples, or else alone. Each way begins with
  /// sources of its own.
  /// What the answer's head says.
  struct Said {
    std::string seconds;
    const char* lost;
  };
  transport::Task<void> send_recordings(Answer& answer, MakeSources make, std::string seconds,
                                        AuditEntry& entry);
  /// Sets `begun` once the answer has begun. Errors: no reader, or one that fails. All references must
  /// outlive the task.
  transport::Task<Result<void>> send_joined(Answer& answer, Sources sources, Said said, AuditEntry& entry,
                                            bool& begun);

  transport::Loop& loop_;
  Log log_;
  FilesOf files_of_;
  Readers readers_;
  Audit& audit_;
  Places places_;  ///< For answers under way. Each holds what it sends.
};

}  // namespace farport::router
