// Dumps at the agent: having a runtime write one where the agent can read it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/log.hpp"
#include "ipc/message.hpp"
#include "ipc/payload.hpp"
#include "router/agent/dumps/dump_directory.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/agent/runtimes/user_shares.hpp"
#include "transport/stream.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

// The process that writes a runtime's dump, createdump, which the runtime starts: how much there will be to
// write, and stopping it.

/// About how large a dump of the process will be, by what it holds in memory; nothing where that can't be
/// seen.
[[nodiscard]] std::optional<std::uint64_t> estimate_dump(pid_t runtime, ipc::DumpType type);

/// Kills the runtime's createdump that writes to `path`, so that the runtime goes on and the file grows no
/// more; other dumps of it are left alone. False where there is none to be seen, or it isn't ours to kill.
/// The runtime then answers that its dump has failed. Blocks, for as long as the runtime's processes like.
bool stop_createdump(pid_t runtime, const std::string& path);

/// Whether a signal has stopped the process.
[[nodiscard]] bool is_stopped(pid_t runtime);

/// Has a runtime go on that its writer has left stopped: a tracer stops a thread with SIGSTOP (ptrace(2),
/// PTRACE_ATTACH), which is delivered after all when the tracer is killed, and then stops the whole process.
/// For runtimes whose writer was killed; it may take a moment until they stop.
void wake_stopped(pid_t runtime);

/// The dumps under way, one per runtime at a time.
class Dumps {
 public:
  Dumps(transport::Loop& loop, Log log, Registry& registry, DumpSettings settings)
      : loop_(loop),
        log_(std::move(log)),
        registry_(registry),
        settings_(std::move(settings)),
        looks_(loop),
        endings_(loop) {}
  Dumps(const Dumps&) = delete;
  Dumps& operator=(const Dumps&) = delete;

  /// A dump under way, which others can ask about while it lives.
  class Job;
  /// Starts one. Errors: the runtime is gone, or another dump of it is under way (`cause` is EBUSY).
  [[nodiscard]] Result<std::unique_ptr<Job>> start(const Runtime& runtime, DumpRequest request);

  /// nullptr where none is under way.
  [[nodiscard]] const DumpProgress* progress(std::string_view id) const;

  /// Removes what dead agents left behind in the directories that runtimes share with this one, as runtimes
  /// are listed. Never ends by itself.
  transport::Task<void> keep_clean();
  /// Passes when the runtimes go on whose dumps were broken off.
  transport::Task<void> settled() { return endings_.idle(); }

 private:
  transport::Task<void> clean(Runtime runtime);
  transport::Task<Result<SharedDirectory>> find_shared(transport::PeerCredentials process,
                                                       std::string socket);
  transport::Task<bool> stop_writer(pid_t process, std::string path);
  transport::Task<void> end(pid_t process, std::string path, bool wake);

  transport::Loop& loop_;
  Log log_;
  Registry& registry_;
  DumpSettings settings_;
  std::map<std::string, Job*, std::less<>> jobs_;  ///< By the runtime's id.
  ProcessLooks looks_;
  transport::TaskSet endings_;
};

class Dumps::Job {
 public:
  Job(Dumps& dumps, Runtime runtime, DumpRequest request);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job();

  /// Has the runtime write the dump and waits for it. Errors: what the runtime says (`cause` is its HRESULT),
  /// too little space, a limit, or cancelled by stop(). Nothing of the dump is left then.
  transport::Task<Result<void>> write();
  /// Ends write() as soon as it can be: when the runtime has answered that its writer was stopped; where that
  /// can't be done, at once, and it may go on writing what nobody will read.
  void stop(Error why);

  /// After write(): what to read, without a name in any file system any more.
  [[nodiscard]] Result<OpenDump> take();
  /// After write(): leaves it where the runtime can see it.
  [[nodiscard]] Result<KeptDump> keep();

  [[nodiscard]] DumpProgress& progress() { return progress_; }

 private:
  using Answer = Result<ipc::Message>;
  transport::Task<Result<void>> prepare();
  [[nodiscard]] Result<void> check_space(std::uint64_t more) const;
  /// Whether the dump that is wanted is one that the runtime can't write yet.
  [[nodiscard]] bool writes_full_dumps_only() const;
  [[nodiscard]] Error refused_by_runtime(const ipc::ErrorAnswer& answer) const;
  transport::Task<Answer> ask();
  transport::Task<Answer> ask_with(ipc::Command command);
  transport::Task<void> watch();
  transport::Task<void> end_writing();
  void leave_writer();
  transport::Task<void> let_go();

  Dumps& dumps_;
  Runtime runtime_;
  DumpRequest request_;
  DumpProgress progress_;
  pid_t process_ = 0;  ///< The runtime's, where it is visible here.
  bool wakes_ = true;  ///< It goes on once the dump is given up: nobody else has stopped it before.
  std::unique_ptr<DumpDirectory> directory_;
  transport::FdStream* asked_ = nullptr;  ///< On which the runtime's answer is awaited.
  std::optional<Error> stopped_;
  bool writer_killed_ = false;
  int looks_at_end_ = 0;  ///< Since the dump was stopped.
  transport::Event look_;
};

/// Sending a dump: read and compressed on the thread pool, one piece while the one before it is written.
/// Writes the whole dump to `to`, as zstd where `compress`, and ends that direction. `on_sent`: told how much
/// of the dump is out. Errors: the file can't be read or has become shorter, or the stream broke.
transport::Task<Result<void>> send_dump(transport::Stream& to, OpenDump dump, bool compress,
                                        std::function<void(std::uint64_t)> on_sent);

}  // namespace farport::router
