// What is recorded, and what becomes of it.
#pragma once

#include <functional>
#include <memory>

#include "cli/setup/patience.hpp"
#include "cli/output/recording_file.hpp"
#include "ipc/event_pipe.hpp"
#include "router/mirror/session_manager.hpp"
#include "router/wire/runtime.hpp"

namespace farport::cli {

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
