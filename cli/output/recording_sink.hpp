// RecordingSink: what becomes of recorded data, such as the file that it is written to.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "base/output_file.hpp"
#include "cli/setup/patience.hpp"
#include "ipc/event_pipe.hpp"
#include "router/mirror/session_manager.hpp"
#include "router/wire/runtime.hpp"
#include "transport/loop.hpp"
#include "transport/task.hpp"

namespace farport::cli {

/// A buffer that a thread reads. Only the first `size` bytes are valid.
struct Piece {
  std::vector<std::byte> bytes;
  std::size_t size = 0;
};

/// A piece with a copy of this text.
[[nodiscard]] std::shared_ptr<const Piece> piece_of(std::string_view text);

/// The file that a recording is written to as it comes.
class RecordingFile : public std::enable_shared_from_this<RecordingFile> {
 public:
  /// Creates a new file, or with `force` replaces an existing one. Only its owner may read it, since a
  /// recording may contain request data. It is removed at the end unless keep() is called. Fails if it exists
  /// or can't be created.
  static Result<std::shared_ptr<RecordingFile>> create(const std::string& path, bool force);

  /// Standard output instead of a file. Its writes may block for ever; they only block their own thread.
  static Result<std::shared_ptr<RecordingFile>> standard_output();

  explicit RecordingFile(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  explicit RecordingFile(UniqueFd output) : output_(std::move(output)) {}
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  [[nodiscard]] bool is_terminal() const { return output_ && ::isatty(output_.get()) != 0; }
  /// Appends on the thread pool, since a slow disk must not block the session. The piece must not change
  /// until this returns. Fails with the system's error.
  transport::Task<Result<void>> append(transport::Loop& loop, std::shared_ptr<const Piece> piece);
  /// Keeps the file after the last byte. On failure (see OutputFile) no file is left.
  [[nodiscard]] Result<void> keep();

 private:
  [[nodiscard]] Result<void> write(const Piece& piece);

  std::mutex writing_;  ///< A piece may still be being written when the file is given up.
  std::unique_ptr<OutputFile> file_;
  UniqueFd output_;
};

class RecordingSink {
 public:
  virtual ~RecordingSink() = default;

  /// Called when the runtime is found, before it is asked for anything: returns what it should record. On
  /// failure nothing is recorded.
  [[nodiscard]] virtual Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) = 0;
  /// The runtime is recording. The session exists until the recording has ended.
  virtual void begin(router::SessionManager& /*sessions*/) {}
  /// Takes the next nettrace bytes. They don't change until this returns.
  virtual transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) = 0;
  /// Sets a function to be called when the sink has enough, which stops the recording.
  void when_enough(std::function<void()> enough) { enough_ = std::move(enough); }
  /// Whether the data that a runtime sends after being told to stop is useful; otherwise it is awaited only
  /// briefly.
  [[nodiscard]] virtual bool wants_rest() const { return true; }
  /// The kind of work, for messages about a silent runtime.
  [[nodiscard]] virtual Patience::Work work() const { return Patience::Work::events; }
  /// Whether run_fallback() tells more than this runtime does: it is asked only if that fails.
  [[nodiscard]] virtual bool needs_no_answer(const router::Runtime& /*runtime*/) const { return false; }
  /// Called when the runtime has not answered for some seconds: produces a result without its answer, if
  /// possible. Cancelled if the runtime answers. Fails if there is no way; the error is for people, and empty
  /// if that is normal.
  virtual transport::Task<Result<void>> run_fallback(router::SessionManager& sessions,
                                                     std::string runtime_id);
  /// The runtime has sent everything. An error fails the command.
  virtual transport::Task<Result<void>> finish();
  /// The recording broke off. The received data may still be shown, briefly.
  virtual transport::Task<void> broke_off();
  /// The session ends and must not be used any more.
  virtual void leave() {}
  /// Nothing has come and nothing will.
  virtual void discard() {}
  /// Keeps the received data, complete or not. An error fails the command.
  [[nodiscard]] virtual Result<void> keep() { return {}; }

 protected:
  void has_enough() const {
    if (enough_) enough_();
  }

 private:
  std::function<void()> enough_;
};

}  // namespace farport::cli
