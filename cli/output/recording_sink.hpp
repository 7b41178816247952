// What is recorded, and what becomes of it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
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

// The file that a recording goes to, as it comes.

/// Bytes that a thread reads: of which `size` count.
struct Piece {
  std::vector<std::byte> bytes;
  std::size_t size = 0;
};

class RecordingFile : public std::enable_shared_from_this<RecordingFile> {
 public:
  /// A file that is not there yet, or with `force` one in place of what is. Only its owner may read it: a
  /// recording may hold what requests said. It is removed in the end, unless keep() was called. Errors: it is
  /// there, or can't be made.
  static Result<std::shared_ptr<RecordingFile>> create(const std::string& path, bool force);

  /// Standard output in its place. Its writes may wait for ever, and only the thread that makes them does.
  static Result<std::shared_ptr<RecordingFile>> standard_output();

  explicit RecordingFile(std::unique_ptr<OutputFile> file) : file_(std::move(file)) {}
  explicit RecordingFile(UniqueFd output) : output_(std::move(output)) {}
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  [[nodiscard]] bool is_terminal() const { return output_ && ::isatty(output_.get()) != 0; }
  /// Appends, on the thread pool: a disk may be slow, and a session must stay alive meanwhile. The piece is
  /// not to be changed before it passes. Errors: the system's.
  transport::Task<Result<void>> append(transport::Loop& loop, std::shared_ptr<const Piece> piece);
  /// No more comes. Errors: see OutputFile; nothing is left then.
  [[nodiscard]] Result<void> keep();

 private:
  [[nodiscard]] Result<void> write(const Piece& piece);

  std::mutex writing_;  ///< A piece may still be on its way when the rest is given up.
  std::unique_ptr<OutputFile> file_;
  UniqueFd output_;
};

class RecordingSink {
 public:
  virtual ~RecordingSink() = default;

  /// The runtime is found, and nothing is asked of it yet: what it is to record. Errors: nothing is.
  [[nodiscard]] virtual Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) = 0;
  /// It records. The session stays until the recording has ended.
  virtual void begin(router::SessionManager& /*sessions*/) {}
  /// Takes the next bytes (nettrace). They are not changed before this passes.
  virtual transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) = 0;
  /// `enough` is called once it has all that it is for: the recording is stopped then.
  void when_enough(std::function<void()> enough) { enough_ = std::move(enough); }
  /// Whether what a runtime has still to say when it is told to stop is of any use: else nobody waits for it
  /// long.
  [[nodiscard]] virtual bool wants_rest() const { return true; }
  /// What it is for.
  [[nodiscard]] virtual Patience::Work work() const { return Patience::Work::events; }
  /// The runtime has not answered for some seconds: does without it what can be done so. It may answer
  /// meanwhile; this is given up then. Errors: nothing can; why not is for a person, and empty where that is
  /// usual.
  virtual transport::Task<Result<void>> do_without_answer(router::SessionManager& sessions,
                                                          std::string runtime_id);
  /// No more come: the runtime has said all. Errors fail the command.
  virtual transport::Task<Result<void>> finish();
  /// No more come: the recording breaks off. What has come may still be shown, in a moment.
  virtual transport::Task<void> broke_off();
  /// The session ends: nothing may use it from now on.
  virtual void leave() {}
  /// Nothing has come, and nothing will.
  virtual void discard() {}
  /// What has come, whole or not, is all that comes: it is to be kept. Errors fail the command.
  [[nodiscard]] virtual Result<void> keep() { return {}; }

 protected:
  void has_enough() const {
    if (enough_) enough_();
  }

 private:
  std::function<void()> enough_;
};

}  // namespace farport::cli
