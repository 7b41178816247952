// Recorder: keeps the last minutes of what each runtime reports, for when something has gone wrong and nobody
// looked.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "router/agent/artifacts/artifacts.hpp"
#include "router/agent/recorder/process_end.hpp"
#include "router/agent/recorder/recent_files.hpp"
#include "router/agent/recorder/recorded_samples.hpp"
#include "router/agent/recorder/recorded_session.hpp"
#include "router/agent/runtimes/memory_group.hpp"
#include "router/agent/runtimes/own_session.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/wire/runtime.hpp"
#include "transport/semaphore.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

struct RecorderSettings {
  bool samples = true;                                   ///< Whether processors are sampled, too.
  std::uint64_t runtime_bytes = std::uint64_t{8} << 20;  ///< The memory for one runtime at most.
};

/// Records one runtime for as long as it is listed.
class RuntimeRecorder {
 public:
  /// Whether the names of its methods are kept, too, for when it has ended and can't be asked.
  enum class Names : std::uint8_t { ask_later, keep };

  /// What the recorders of all runtimes share.
  struct Shared {
    /// `samplings`: how many there are at a time. Processors are not sampled if that is 0, or without a
    /// sampler.
    Shared(transport::Loop& loop, MemoryGroups& memory_groups,
           std::shared_ptr<const SamplerProcess> sampler_process, std::size_t samplings)
        : naming(loop, 1),
          sampler(samplings == 0 ? nullptr : std::move(sampler_process)),
          sampling(loop, samplings),
          groups(memory_groups) {}

    transport::Semaphore naming;  ///< For one runtime at a time to name all its methods.
    std::shared_ptr<const SamplerProcess> sampler;
    transport::Semaphore sampling;  ///< For runtimes to be sampled in turn.
    std::string why_not_sampled;    ///< The reason that was logged last why some runtime is not sampled.
    MemoryGroups& groups;
  };

  /// Begins at once, and tries again after a while if a session fails or ends. `limit` returns the memory
  /// that it may take now, in bytes. All references must outlive it.
  RuntimeRecorder(transport::Loop& loop, Registry& registry, const Log& log, Shared& shared,
                  RecordedSession::Limit limit, Names names, Runtime runtime);
  RuntimeRecorder(const RuntimeRecorder&) = delete;
  RuntimeRecorder& operator=(const RuntimeRecorder&) = delete;

  /// Takes over what has changed about the runtime.
  void change(Runtime runtime) { runtime_ = std::move(runtime); }
  /// Has the runtime stop the sessions for good.
  transport::Task<void> end();

  [[nodiscard]] RecordedSamples& samples() { return samples_; }
  /// What the runtime has reported; nothing if it has reported nothing.
  [[nodiscard]] std::optional<RecentFiles> files(RecentBlocks::Clock::time_point since) const;
  /// Puts the newest names in place of those in `files`.
  void add_names(RecentFiles& files) const;
  /// The memory of all that is kept, in bytes.
  [[nodiscard]] std::size_t size() const;
  /// Drops the oldest of what it may not have any more: while it records, that is done as more comes.
  void trim();
  /// When the oldest events came; nothing if none has come.
  [[nodiscard]] auto begun() const { return events_.blocks().begun(); }
  [[nodiscard]] const Runtime& runtime() const { return runtime_; }
  [[nodiscard]] const WatchedProcess& process() const { return process_; }
  /// Whether the process's control group has run out of memory; false if that can't be told.
  [[nodiscard]] bool group_ran_out() const { return group_ != nullptr && group_->ran_out(); }

 private:
  using Clock = RecentBlocks::Clock;
  using Record = transport::Task<Result<void>> (RuntimeRecorder::*)();

  transport::Task<void> find_group();
  transport::Task<void> repeat(Record record);
  transport::Task<Result<void>> record_events();
  transport::Task<Result<void>> record_names();
  [[nodiscard]] std::size_t limit_of_events();
  transport::Task<void> keep_methods();
  /// Whether the runtime has to name its methods again.
  [[nodiscard]] bool names_needed();
  transport::Task<Result<void>> record_methods();
  transport::Task<void> record_samples();
  /// Samples once, when its turn comes.
  transport::Task<Result<void>> sample();

  transport::Loop& loop_;
  Registry& registry_;
  const Log& log_;
  Shared& shared_;
  RecordedSession::Limit limit_;
  Runtime runtime_;
  WatchedProcess process_;
  MemoryGroupPtr group_;  ///< Null until it is found.
  RecordedSession events_;
  RecordedSamples samples_;
  RecordedSession loads_;                      ///< Of methods, since before methods_ was made.
  RecentBlocks methods_;                       ///< All methods at some time, as the runtime has told them.
  std::optional<Clock::time_point> named_at_;  ///< When methods_ was asked for, in the session of loads_.
  std::size_t whole_size_ = 0;                 ///< That of methods_ when it came, if it was whole; else 0.
  bool told_of_names_ = false;                 ///< Whether it has been logged that some have no room.
  transport::TaskSet tasks_;
};

/// What a recorder has.
struct RecorderTotals {
  std::size_t runtimes = 0;       ///< Of which something is recorded.
  std::uint64_t bytes = 0;        ///< The memory of that.
  std::chrono::seconds reach{0};  ///< How far back the shortest of the recordings goes.
  std::uint64_t kept = 0;         ///< Runtimes that have ended, and were kept in the directory.
  std::uint64_t lost = 0;         ///< Those that couldn't be kept.
};

/// Records all runtimes of the registry. All recordings together take a quarter of the memory that the agent
/// may use, at most.
class Recorder {
 public:
  using Clock = RecentBlocks::Clock;

  /// Gets what was kept of a runtime that has ended.
  using OnEnded = std::function<void(const Artifact& kept)>;

  /// `artifacts` may be null: nothing is kept of runtimes that have ended then.
  /// `sampler` may be null: processors are not sampled then.
  Recorder(transport::Loop& loop, Registry& registry, MemoryGroups& groups, Log log,
           RecorderSettings settings, std::shared_ptr<const Artifacts> artifacts,
           std::shared_ptr<const SamplerProcess> sampler, OnEnded on_ended);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Follows the registry until it is cancelled.
  transport::Task<void> run() { return kept_.run(); }
  /// Stops all sessions, and waits for that a limited time.
  transport::Task<void> end();

  /// What a runtime has reported since `since`, as far as it is kept; nothing if nothing is.
  transport::Task<std::optional<RecentFiles>> files(std::string runtime_id, Clock::time_point since,
                                                    bool with_samples) const;
  [[nodiscard]] RecorderTotals totals() const;

 private:
  /// The memory that one runtime of this user may take now. Each user has an equal part, and what one does
  /// not need the others may have.
  [[nodiscard]] std::size_t limit(uid_t user) const;
  /// Forgets recordings of runtimes that have ended if there are more than there is memory for, of the user
  /// who has most.
  void drop_ended();
  /// A runtime that has ended, until its recording is on its way to the directory.
  struct Ended {
    uid_t user = 0;
    std::unique_ptr<RuntimeRecorder> recorder;  ///< Null once it is dropped.
  };
  /// What is kept of a runtime that has ended, on its way to the directory.
  struct Keeping {
    Artifact crash;
    std::optional<RecentFiles> files;
    std::size_t removed = 0;  ///< Older ones that had to go.
    Result<void> kept;
  };
  /// Keeps what was recorded of a runtime that has ended.
  transport::Task<void> keep_ended(std::unique_ptr<RuntimeRecorder> recorder);
  /// Waits until it is known how the process has ended. Returns false if it is not to be kept.
  transport::Task<bool> wait_for_end(Ended& ended);
  /// Writes it, `bytes` of memory, when its turn comes.
  transport::Task<Result<void>> write_ended(std::shared_ptr<Keeping> keeping, std::size_t bytes);

  transport::Loop& loop_;
  Log log_;
  RecorderSettings settings_;
  std::uint64_t total_;                         ///< For all runtimes, in bytes.
  std::shared_ptr<const Artifacts> artifacts_;  ///< Null if they are not kept.
  transport::Semaphore writing_;                ///< For one at a time to write into the directory.
  std::size_t unwritten_bytes_ = 0;             ///< The memory of what waits for it, at most total_.
  std::map<uid_t, std::size_t> unwritten_of_;   ///< The same, by the runtime's user.
  std::uint64_t ended_kept_ = 0;
  std::uint64_t ended_lost_ = 0;
  RuntimeRecorder::Shared shared_;  ///< Recorders that are being kept use it, too.
  OnEnded on_ended_;
  std::list<Ended> ended_;  ///< The oldest first.
  transport::TaskSet keeping_;
  PerRuntime<RuntimeRecorder> kept_;
};

}  // namespace farport::router
