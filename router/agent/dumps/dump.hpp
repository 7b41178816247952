// Dumps at the agent: has a runtime write a dump where the agent can read it, and sends it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include <sys/types.h>

#include "base/log.hpp"
#include "ipc/message.hpp"
#include "ipc/payload.hpp"
#include "router/agent/dumps/core_size.hpp"
#include "router/agent/dumps/dump_directory.hpp"
#include "router/agent/dumps/dump_need.hpp"
#include "router/agent/runtimes/createdump.hpp"
#include "router/agent/runtimes/memory_group.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/agent/runtimes/user_shares.hpp"
#include "router/agent/sampler/sampler_process.hpp"
#include "transport/stream.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// Kills the runtime's createdump that writes to `path`, and leaves its other dumps alone. The runtime then
/// goes on, and answers that its dump has failed. Returns false if there is no such process to be seen, or it
/// may not be killed. Blocks, for as long as the runtime's processes like.
bool stop_createdump(pid_t runtime, const std::string& path);

/// Whether a signal has stopped the process.
[[nodiscard]] bool is_stopped(pid_t runtime);

/// Resumes a runtime that stays stopped after its writer was killed. A tracer stops a thread with SIGSTOP
/// (ptrace(2), PTRACE_ATTACH). If the tracer is killed, the signal is delivered after all and stops the whole
/// process. That may take a moment, so call this several times.
void wake_stopped(pid_t runtime);

/// The dumps under way, at most one for each runtime.
class Dumps {
 public:
  /// `sampler` may be null.
  Dumps(transport::Loop& loop, Log log, Registry& registry, MemoryGroups& groups, DumpSettings settings,
        std::shared_ptr<const SamplerProcess> sampler)
      : loop_(loop),
        log_(std::move(log)),
        registry_(registry),
        groups_(groups),
        settings_(std::move(settings)),
        sampler_(std::move(sampler)),
        looks_(loop),
        endings_(loop) {
    // While this may still be found out.
    std::ignore = reading_takes_memory();
  }
  Dumps(const Dumps&) = delete;
  Dumps& operator=(const Dumps&) = delete;

  /// A dump under way. Others can ask for its progress while it lives.
  class Job;
  /// Starts a dump. Errors: the runtime has ended, or another dump of it is under way (`cause` is EBUSY).
  [[nodiscard]] Result<std::unique_ptr<Job>> start(const Runtime& runtime, DumpRequest request);

  /// The progress of the dump of the runtime `id`, or nullptr if there is none.
  [[nodiscard]] const DumpProgress* progress(std::string_view id) const;

  /// Whenever a runtime is listed, removes what dead agents have left in the directory that it shares with
  /// this one. Never ends by itself.
  transport::Task<void> keep_clean();
  /// Waits until the runtimes whose dumps were broken off go on.
  transport::Task<void> settled() { return endings_.idle(); }

 private:
  transport::Task<void> clean(Runtime runtime);
  transport::Task<Result<SharedDirectory>> find_shared(transport::PeerCredentials process,
                                                       std::string socket);
  transport::Task<Createdump> find_writer(transport::PeerCredentials process, bool native);
  transport::Task<bool> stop_writer(pid_t process, std::string path);
  transport::Task<void> end(pid_t process, std::string path, bool wake);

  transport::Loop& loop_;
  Log log_;
  Registry& registry_;
  MemoryGroups& groups_;
  DumpSettings settings_;
  std::shared_ptr<const SamplerProcess> sampler_;
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

  /// Makes a place for the dump, and estimates its size. Errors: there is no such place, the runtime can't
  /// write it, or stop().
  transport::Task<Result<void>> prepare();
  /// After that: whether there is room for it. Errors: too little space or memory, or a limit.
  [[nodiscard]] Result<void> check_room() const;
  /// The same for what it takes wherever it goes: the limit, and the application's memory.
  [[nodiscard]] Result<void> check_limits() const;
  /// After prepare(): has the runtime write the dump, and waits for it. On an error nothing of the dump is
  /// left. Errors: what the runtime says (`cause` is its HRESULT), too little space, a limit, or stop().
  transport::Task<Result<void>> write();
  /// The same into a stream, which the runtime waits for as it writes. It stands still for no longer than
  /// `longest`. The stream is finished if it has all. Errors: as for write(), those of the stream, or what
  /// came is not all of a core file.
  transport::Task<Result<void>> write_to(transport::Stream& to, DumpPipe pipe,
                                         transport::Milliseconds longest);
  /// After prepare(), for write_to(). Errors: as for DumpDirectory::make_pipe().
  [[nodiscard]] Result<DumpPipe> make_pipe() { return directory_->make_pipe(); }
  /// Ends write() as soon as possible: when the runtime has answered after its writer was killed. If the
  /// writer can't be killed, write() ends at once, and the writer may go on writing what nobody will read.
  void stop(Error why);

  /// After write(): opens the dump, which then has no name in any file system.
  [[nodiscard]] Result<OpenDump> take();
  /// After write(): leaves the dump where the runtime can see it.
  [[nodiscard]] Result<KeptDump> keep();

  [[nodiscard]] DumpProgress& progress() { return progress_; }
  [[nodiscard]] const Runtime& runtime() const { return runtime_; }
  [[nodiscard]] const DumpRequest& request() const { return request_; }

 private:
  using Answer = Result<ipc::Message>;
  transport::Task<Result<void>> ask_and_watch();
  transport::Task<void> pass_on(transport::Stream& from, transport::Stream& to);
  transport::Task<void> stop_after(transport::Milliseconds longest);
  transport::Task<Result<void>> drained();
  [[nodiscard]] Result<void> check_space(std::uint64_t more) const;
  [[nodiscard]] Result<void> check_memory(const std::string& into_memory) const;
  /// What the dump takes of the group's memory, in bytes; 0 if that is not known.
  [[nodiscard]] std::uint64_t memory_needed() const;
  /// Whether the runtime can't write this type of dump yet, because it is suspended.
  [[nodiscard]] bool writes_full_dumps_only() const;
  [[nodiscard]] Error refused_by_runtime(const ipc::ErrorAnswer& answer) const;
  /// The error, with what has become of the application.
  transport::Task<Error> after(Error failed, bool without_answer);
  transport::Task<Answer> ask();
  transport::Task<Answer> ask_once();
  transport::Task<Answer> ask_with(ipc::Command command);
  transport::Task<void> watch();
  transport::Task<void> end_writing();
  void leave_writer();
  transport::Task<void> let_go();

  Dumps& dumps_;
  Runtime runtime_;
  DumpRequest request_;
  DumpProgress progress_;
  pid_t process_ = 0;                    ///< The runtime's pid; 0 or less if it is not visible here.
  std::optional<DumpedProcess> before_;  ///< The process before the dump, if it is visible.
  bool wakes_ = true;  ///< Wake it when the dump is given up; false if it was stopped before.
  std::uint64_t process_start_ = 0;
  std::string socket_;        ///< The path of the runtime's; empty if it has none.
  MemoryGroups::Seen group_;  ///< The runtime's control group before the dump; has none if it can't be seen.
  std::optional<std::uint64_t> on_host_;  ///< Memory that was available there.
  std::unique_ptr<DumpDirectory> directory_;
  transport::FdStream* asked_ = nullptr;  ///< On which the runtime's answer is awaited; may be null.
  std::optional<Error> stopped_;
  bool straight_ = false;  ///< The dump goes through a pipe.
  bool writer_killed_ = false;
  int looks_at_end_ = 0;  ///< Looks since the dump was stopped.
  transport::Event look_;
  transport::Condition passed_;  ///< Changes when the pipe has ended, or stop() was called.
  bool all_passed_ = false;
  CoreSize core_;  ///< Of what has passed.
};

/// Sends the whole dump to `to`, as zstd if `compress`, and ends that direction. The thread pool reads and
/// compresses one piece while the previous one is written. `on_sent` is told how many bytes of the dump are
/// out. Errors: the file can't be read or has become shorter, or the stream broke.
transport::Task<Result<void>> send_dump(transport::Stream& to, OpenDump dump, bool compress,
                                        std::function<void(std::uint64_t)> on_sent);

}  // namespace farport::router
