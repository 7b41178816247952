// SamplerProcess: the helper process that samples others and reads their files for the agent, and keeps the
// rights that this takes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "base/unique_fd.hpp"
#include "router/agent/sampler/module_archive.hpp"
#include "router/agent/sampler/perf_record.hpp"
#include "router/agent/sampler/process_look.hpp"
#include "router/agent/sampler/sampler_answer.hpp"
#include "router/helpers/helper_process.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

/// What to sample.
enum class SamplingEvent : std::uint8_t {
  cpu,   ///< Threads that compute, by the kernel's counters.
  wall,  ///< All threads, by looking at them.
};

/// What an agent asks its sampler for.
struct SamplingRequest {
  SamplingEvent event = SamplingEvent::cpu;
  pid_t process = 0;
  uid_t user = 0;               ///< The process's user.
  std::uint32_t frequency = 0;  ///< Samples a second, for each thread; with `cpu`, for each busy one.
  std::uint32_t seconds = 0;    ///< How long to sample.
  std::uint64_t memory = 0;     ///< The most that it may take, in bytes.
  bool kernel = false;          ///< Include the kernel's part of stacks, if the kernel allows that.
};

/// The pipe for samples, whose reader may be slow.
class SampleOutput {
 public:
  /// `fd` must not block. `most` is how many bytes may wait before full().
  SampleOutput(int fd, std::size_t most) : fd_(fd), most_(most) {}

  /// Adds bytes, and writes as much as possible without blocking.
  void write(std::string_view bytes);
  /// Writes all that waits, for as long as there is a reader. Blocks.
  void finish();

  [[nodiscard]] int fd() const { return fd_; }
  /// Nobody reads the pipe any more.
  [[nodiscard]] bool broken() const { return broken_; }
  /// So much waits that no more samples should be added.
  [[nodiscard]] bool full() const;
  [[nodiscard]] bool waits() const { return !pending_.empty(); }

 private:
  void write_pending();

  int fd_;
  std::size_t most_;
  std::string pending_;
  bool broken_ = false;
};

/// Merges all stacks of a profile into one tree, and tells each call once.
class StackTree {
 public:
  /// `kernel_base` is subtracted from the kernel's addresses, so that nobody learns where the kernel is.
  /// `memory` is the approximate number of bytes for calls; at most 16 MiB are used.
  StackTree(std::uint64_t kernel_base, std::uint64_t memory);

  /// Returns the innermost call of a sample's stack, and tells `to` the calls that are new. Once the memory
  /// is used up, a stack ends at the last known call.
  CallNumber add(const PerfSample& sample, SampleSink& to);

  /// All addresses in the tree, each once, sorted. Those of the kernel have the highest bit set, and so come
  /// last.
  [[nodiscard]] std::vector<std::uint64_t> addresses() const;

 private:
  struct Edge {
    CallNumber caller;
    std::uint64_t address;
    bool operator==(const Edge&) const = default;
  };
  struct EdgeHash {
    std::size_t operator()(const Edge& edge) const {
      return std::hash<std::uint64_t>()(edge.address * 0x9E3779B97F4A7C15U + edge.caller);
    }
  };
  CallNumber call(CallNumber caller, std::uint64_t address, SampleSink& to);

  std::uint64_t kernel_base_;
  std::size_t most_calls_;
  std::unordered_map<Edge, CallNumber, EdgeHash> calls_;
};

/// Samples a process until the time is over, the other end of `control` is closed, or the process has ended.
/// Writes to `samples` first a byte: kSampling, followed by a stream of samples; or kRefused or kNoMemory,
/// followed by an error's why, a zero byte and its hint. Ends at once if nobody reads `samples` any more.
/// `process` is a pidfd, which identifies the process for sure. From then on this process is limited to the
/// request's memory.
void run_sampling(const SamplingRequest& request, const UniqueFd& process, const UniqueFd& samples,
                  const UniqueFd& control);

/// The agent's ends of one piece of work.
struct SamplerEnds {
  UniqueFd answer;   ///< What run_sampling() or send_modules() writes; does not block.
  UniqueFd control;  ///< Close it to end a sampling.
  Lifeline lifeline;
};

/// The helper process. It is forked before the agent has given anything up, so that the agent, which faces
/// the network, needs none of the rights for sampling.
class SamplerProcess {
 public:
  /// Starts it. Runs `confine` in it first. Errors: the process can't be started.
  [[nodiscard]] static Result<SamplerProcess> start(std::function<void()> confine);

  [[nodiscard]] const HelperProcess& process() const { return process_; }

  /// Has a process sampled, of which `process` is a pidfd. Errors: the helper has ended.
  [[nodiscard]] Result<SamplerEnds> begin(const SamplingRequest& request, const UniqueFd& process) const;
  /// Has its modules sent.
  [[nodiscard]] Result<SamplerEnds> begin(const ModulesRequest& request, const UniqueFd& process) const;
  /// Has a process looked at. Blocks for as long as the process likes, and may be called by any thread.
  /// Errors: the helper has ended, or has not answered within two seconds.
  [[nodiscard]] Result<Seen> look(const LookRequest& request) const;

 private:
  [[nodiscard]] Result<SamplerEnds> begin(std::string_view request, const UniqueFd& process) const;

  explicit SamplerProcess(HelperProcess process) : process_(std::move(process)) {}

  HelperProcess process_;
};

}  // namespace farport::router
