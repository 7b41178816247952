// RecordedSamples: what a process has done on processors lately, as the agent's sampler tells it. The agent
// reads none of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "router/agent/recorder/compressed_bytes.hpp"
#include "router/agent/sampler/sampler_work.hpp"
#include "transport/event.hpp"
#include "transport/task.hpp"

namespace farport::router {

/// One whole stream of samples.
struct SampleRun {
  using Clock = std::chrono::steady_clock;

  Clock::time_point begun;
  Clock::time_point ended;
  CompressedBytes stream;
};

/// Streams of samples, each behind its size (see SampleEvents), made piece by piece. It holds them, whatever
/// becomes of the RecordedSamples that they are from.
class SampleFile {
 public:
  /// The file's next bytes; nothing after its end.
  [[nodiscard]] std::vector<std::byte> next();
  /// The memory of what is left, in bytes.
  [[nodiscard]] std::size_t held() const;
  [[nodiscard]] bool empty() const { return runs_.empty(); }

 private:
  friend class RecordedSamples;
  std::deque<std::shared_ptr<const SampleRun>> runs_;
};

/// Keeps the last runs of a process's samplings, within a limit of memory.
class RecordedSamples {
 public:
  using Clock = SampleRun::Clock;
  using Limit = std::function<std::size_t()>;

  /// Who asks again and again must not have runs begin and end all the time.
  static constexpr std::chrono::seconds kShortestRun{2};

  /// `limit` returns the memory that they may take now, in bytes.
  RecordedSamples(transport::Loop& loop, Limit limit) : loop_(loop), limit_(std::move(limit)), ended_(loop) {}
  RecordedSamples(const RecordedSamples&) = delete;
  RecordedSamples& operator=(const RecordedSamples&) = delete;

  /// Keeps what a sampling that has begun tells, up to its end. Errors: it has failed, or tells too much for
  /// the limit.
  transport::Task<Result<void>> record(std::unique_ptr<SamplerWork> sampling);
  /// Has the run under way end now, unless it is younger than kShortestRun, and waits a limited time until it
  /// is kept. May be called several times at once.
  transport::Task<void> end_run();
  /// Waits a limited time until the run under way, if there is one, has ended and is kept.
  transport::Task<void> run_end();
  [[nodiscard]] bool is_under_way() const { return sampling_ != nullptr; }
  /// Drops the oldest runs while all take more than so many bytes.
  void trim(std::size_t most);
  /// Drops the runs that ended before that.
  void drop_before(Clock::time_point time);

  /// The memory of all runs, that under way included, in bytes.
  [[nodiscard]] std::size_t size() const { return size_ + open_.stream.size(); }
  /// All runs that ended since `since`.
  [[nodiscard]] SampleFile file(Clock::time_point since) const;

 private:
  transport::Task<Result<void>> read_run();
  Result<void> keep_run();
  void drop_oldest();

  transport::Loop& loop_;
  Limit limit_;
  std::unique_ptr<SamplerWork> sampling_;  ///< Of the run under way.
  SampleRun open_;                         ///< What has come of it.
  transport::Condition ended_;             ///< Changes when a run has ended.
  std::deque<std::shared_ptr<const SampleRun>> runs_;
  std::size_t size_ = 0;
};

}  // namespace farport::router
