// Taking a dump from an agent: the request, what comes back, and the file that it becomes.
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
#include "router/mirror/session_manager.hpp"
#include "router/stream/compressing_stream.hpp"
#include "router/stream/first_message.hpp"
#include "router/wire/dump.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// What comes of a dump over the network, decompressed and checked on its way into a file.
/// Takes one piece at a time, on whichever thread. Once something has failed, it takes no more.
class DumpSink {
 public:
  /// `expected`: how many bytes the agent has announced. `compressed`: they come as one zstd frame.
  DumpSink(std::unique_ptr<OutputFile> file, std::uint64_t expected, bool compressed);

  void take(std::span<const std::byte> piece);
  /// Once all has been taken: gives the file its name, if it is whole.
  void commit();

  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }
  /// How much of the dump there is, before compression.
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

/// Told now and then how far a dump is.
using OnDumpProgress = std::function<void(const DumpProgress&)>;

/// Takes a dump of a runtime into `path`, where it appears when it is whole. Cancelling the task cancels the
/// dump. Errors: what the agent says (`cause` is the HRESULT for a tool, or the HTTP status), or the
/// file can't be written; nothing is left then.
transport::Task<Result<std::uint64_t>> receive_dump(SessionManager& sessions, std::string runtime_id,
                                                    DumpRequest wanted, std::string path,
                                                    OnDumpProgress on_progress);

/// Has a dump written and left where the runtime can see it: its path there.
transport::Task<Result<std::string>> leave_dump(SessionManager& sessions, std::string runtime_id,
                                                DumpRequest wanted, OnDumpProgress on_progress);

/// A dump that a tool has asked for: taken from the agent, and put where the tool wants it.
/// Takes the dump and answers the tool. A tool that goes cancels its dump. `on_taken`: called when there is
/// no more progress, before the tool is told. Errors: it is to be told.
transport::Task<Result<void>> take_dump_for_tool(Log log, SessionManager& sessions, const Runtime& runtime,
                                                 transport::Stream& tool, FirstMessage first,
                                                 OnDumpProgress on_progress, std::function<void()> on_taken);

}  // namespace farport::router
