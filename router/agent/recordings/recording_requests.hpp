// Recordings over HTTP, for callers without a tool: GET /v1/runtimes/{id}/trace, counters, logs …
// (docs/developers/wire.md).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ipc/event_pipe.hpp"
#include "router/agent/connections/answer.hpp"
#include "router/agent/recordings/inner_recording.hpp"
#include "router/readers/reader_process.hpp"
#include "router/wire/runtime.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// Returns the value of a query parameter, or an empty string if it is missing.
using Parameters = std::function<std::string(std::string_view name)>;

/// What a request asks a runtime to record, and what the answer is made of.
struct WantedRecording {
  ipc::CollectTracing recording;
  transport::Milliseconds duration{};  ///< The longest time.
  /// How a reader makes the answer; nothing if the answer is what the runtime writes.
  std::optional<ReadingRequest> reading;
  std::string content_type;
};

/// The recording for `kind`, which is the last word of the route, with these parameters. Errors name the
/// parameter that is wrong.
[[nodiscard]] Result<WantedRecording> wanted_recording(std::string_view kind, const Parameters& parameters,
                                                       const Runtime& runtime);

/// The refusal with status 503, for a request for which there is no reader.
[[nodiscard]] Refusal no_reader(const Error& why);

class RecordingRequests {
 public:
  RecordingRequests(transport::Loop& loop, DiagnosticConnections& connections, Readers readers)
      : loop_(loop), connections_(connections), readers_(std::move(readers)) {}

  /// Has the runtime record `kind`, and answers with what comes until the time is over, the runtime ends, or
  /// the caller goes. Refused if a parameter is wrong, the caller may not, or the runtime does not record.
  /// The caller must outlive the task.
  transport::Task<std::optional<Refusal>> record(Answer& answer, std::string kind, Parameters parameters,
                                                 const Caller& caller, RuntimePtr runtime);

 private:
  transport::Task<std::optional<Refusal>> begin(Answer& answer, InnerRecording& recording,
                                                ipc::CollectTracing wanted);
  transport::Task<std::optional<Refusal>> record_wanted(Answer& answer, WantedRecording wanted,
                                                        const Caller& caller, RuntimePtr runtime);
  transport::Task<std::optional<Refusal>> send(Answer& answer, InnerRecording& recording,
                                               WantedRecording wanted);
  transport::Task<void> stop_in_time(InnerRecording& recording, transport::Milliseconds duration,
                                     transport::Event& enough);

  transport::Loop& loop_;
  DiagnosticConnections& connections_;
  Readers readers_;
};

}  // namespace farport::router
