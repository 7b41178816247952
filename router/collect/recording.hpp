// Recording: a tracing session that farport itself starts in a runtime.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ipc/event_pipe.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/readers/reader_frames.hpp"
#include "router/readers/reader_process.hpp"
#include "router/stream/compressing_stream.hpp"

namespace farport::router {

class Recording {
 public:
  /// For the runtime with this id, behind the agent of these sessions.
  Recording(SessionManager& sessions, const std::string& runtime_id);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Makes the runtime start. If it does not know the command, an older one is sent. Fails if the agent or
  /// the runtime refuses; `cause` is the HRESULT in the latter case.
  transport::Task<Result<void>> begin(ipc::CollectTracing wanted);
  /// After begin(): the recorded nettrace stream, from its first byte to its end.
  [[nodiscard]] transport::Stream& stream();
  /// Makes the runtime stop. Remaining data still comes before the stream's end; a rundown may take a while.
  transport::Task<Result<void>> stop();
  /// The same; if that fails, the stream fails with the error.
  transport::Task<void> stop_or_abort();
  /// Resumes a runtime that is suspended at startup, so that it records from its first instruction.
  transport::Task<Result<void>> resume();

 private:
  transport::Task<Result<void>> ask_for(ipc::CollectTracing wanted);
  transport::Task<Result<void>> ask(ipc::Command command, std::vector<std::byte> payload);

  SessionManager& sessions_;
  std::string path_;
  std::optional<ResumableRequest> request_;
  std::optional<DecompressingStream> decompressing_;  ///< Set if the agent compresses.
  ipc::SessionId session_;
};

/// Makes the runtime list all its methods, which takes a moment, has a reader process find those at these
/// addresses, and adds them to `to`. Fails if the runtime does not list all of them or there is no reader.
/// `readers` must outlive the task.
[[nodiscard]] transport::Task<Result<void>> read_methods(SessionManager& sessions, std::string runtime_id,
                                                         const ReaderProcess& readers,
                                                         std::vector<std::uint64_t> addresses,
                                                         NamedMethods& to);

}  // namespace farport::router
