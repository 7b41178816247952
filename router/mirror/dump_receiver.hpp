// Receiving dumps from an agent: into a file, at the runtime's place, or for a tool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/output_file.hpp"
#include "base/unique_fd.hpp"
#include "router/mirror/module_receiver.hpp"
#include "router/mirror/session_manager.hpp"
#include "router/stream/compressing_stream.hpp"
#include "router/stream/first_message.hpp"
#include "router/wire/dump.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// Writes a dump that comes over the network to a file; decompresses and checks it on the way. Takes one
/// piece at a time, on any thread. Ignores input after a failure.
class DumpSink {
 public:
  /// `expected`: the size in bytes that the agent announced. `compressed`: the dump comes as one zstd frame.
  DumpSink(std::unique_ptr<OutputFile> file, std::uint64_t expected, bool compressed);

  void take(std::span<const std::byte> piece);
  /// After the last piece: names the file, if it is complete.
  void commit();

  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// Bytes of the dump so far, before compression.
  [[nodiscard]] std::uint64_t size() const { return file_->size(); }

 private:
  [[nodiscard]] Result<void> check_and_commit();
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
  [[nodiscard]] Result<void> decompress(std::span<const std::byte> bytes);

  std::unique_ptr<OutputFile> file_;
  std::uint64_t expected_;
  std::optional<ZstdDecompressor> decompressor_;
  std::vector<std::byte> buffer_;
  bool frame_ended_ = false;
  std::optional<Error> failure_;
};

/// Called now and then with a dump's progress.
using OnDumpProgress = std::function<void(const DumpProgress&)>;

/// What a debugger elsewhere needs for a dump: an archive of the runtime's modules, or why there is none.
struct DumpModules {
  std::string directory;                                         ///< Where they will be.
  OutputFile::Existing existing = OutputFile::Existing::refuse;  ///< Ones that are there.
  UniqueFd archive;                                              ///< Has no name; empty if there is none.
  std::optional<Error> without;                                  ///< Why there is none though it was wanted.
};
/// Gets it for the dump that will be at `dump` (see modules_beside()): before the dump, since the application
/// may not live through that.
transport::Task<DumpModules> receive_dump_modules(SessionManager& sessions, std::string runtime_id,
                                                  WantedModules wanted, std::string dump,
                                                  OutputFile::Existing existing);

/// What has been received.
struct ReceivedDump {
  std::uint64_t bytes = 0;
  std::string modules;           ///< The directory with the runtime's modules; empty if there are none.
  std::optional<Error> without;  ///< Why there are none though they were wanted.
};
/// Writes a dump of a runtime to `path`, where it appears once it is complete, and then the modules beside
/// it. If those can't be written, there is a dump all the same. Cancelling the task cancels the dump. Fails
/// if the agent refuses (`cause` is the HRESULT for a tool, or the HTTP status) or the dump can't be written;
/// no file is left then.
transport::Task<Result<ReceivedDump>> receive_dump(SessionManager& sessions, std::string runtime_id,
                                                   DumpRequest wanted, DumpModules modules, std::string path,
                                                   OnDumpProgress on_progress);

/// Has the runtime write a dump and leaves it there. Returns its path as the runtime sees it.
transport::Task<Result<std::string>> leave_dump(SessionManager& sessions, std::string runtime_id,
                                                DumpRequest wanted, OnDumpProgress on_progress);

/// Answers a tool's dump command: receives the dump from the agent, writes it where the tool wants it, and
/// answers the tool, with what a debugger needs for a dump of the heap beside it. A tool that closes cancels
/// its dump. `on_taken`: called before the tool is answered,
/// when no more progress follows. On failure the caller must still answer the tool.
transport::Task<Result<void>> take_dump_for_tool(Log log, SessionManager& sessions, const Runtime& runtime,
                                                 transport::Stream& tool, FirstMessage first,
                                                 OnDumpProgress on_progress, std::function<void()> on_taken);

}  // namespace farport::router
