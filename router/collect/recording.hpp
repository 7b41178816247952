// Recording: a tracing session of a runtime's that we have begun ourselves.
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
  /// Of the runtime with this id, behind the agent of these sessions.
  Recording(SessionManager& sessions, const std::string& runtime_id);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Has the runtime begin; one that does not know the command is asked by an older one. Errors: the agent
  /// refuses it, or the runtime does; `cause` is the HRESULT then.
  transport::Task<Result<void>> begin(ipc::CollectTracing wanted);
  /// What the runtime records (nettrace), from its first byte to its end. After begin().
  [[nodiscard]] transport::Stream& stream();
  /// Has the runtime stop. What it has still to say comes before the stream's end: a rundown may take a
  /// while.
  transport::Task<Result<void>> stop();
  /// Has a runtime that is suspended at its start go on: it records from its first instruction then.
  transport::Task<Result<void>> resume();

 private:
  transport::Task<Result<void>> ask_for(ipc::CollectTracing wanted);
  transport::Task<Result<void>> ask(ipc::Command command, std::vector<std::byte> payload);

  SessionManager& sessions_;
  std::string path_;
  std::optional<ResumableRequest> request_;
  std::optional<DecompressingStream> decompressing_;  ///< Where the agent compresses.
  ipc::SessionId session_;
};

/// Asks a runtime for the names of methods.
/// Has the runtime tell the names of all its methods, which takes it a moment, and a reader find those that
/// are at these addresses, and adds them to `to`. Errors: the runtime does not tell
/// them all, or there is no reader. `readers` must outlive it.
[[nodiscard]] transport::Task<Result<void>> read_methods(SessionManager& sessions, std::string runtime_id,
                                                         const ReaderProcess& readers,
                                                         std::vector<std::uint64_t> addresses,
                                                         NamedMethods& to);

}  // namespace farport::router
