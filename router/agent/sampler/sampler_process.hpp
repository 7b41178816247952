// The process that samples others for the agent. It is there before the agent has given anything up, and
// keeps what sampling takes; the agent, which faces the network, needs none of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "base/unique_fd.hpp"
#include "router/agent/sampler/perf_record.hpp"
#include "router/helpers/helper_process.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

// One profile, in the process that takes it.

// What an agent asks of its sampler.

/// What is looked at.
enum class SamplingEvent : std::uint8_t {
  cpu,   ///< What computes, when the kernel says so.
  wall,  ///< All threads, by looking.
};

struct SamplingRequest {
  SamplingEvent event = SamplingEvent::cpu;
  pid_t process = 0;
  uid_t user = 0;               ///< Whose process it is.
  std::uint32_t frequency = 0;  ///< A second; of what computes, each busy thread.
  std::uint32_t seconds = 0;    ///< After which it ends.
  std::uint64_t memory = 0;     ///< That it may take, in bytes.
  bool kernel = false;          ///< The kernel's part of stacks too, where the kernel lets us have it.
};

/// The first byte of what comes back.
inline constexpr char kSampling = 's';
inline constexpr char kRefused = 'r';   ///< It may not, or cannot, be sampled.
inline constexpr char kNoMemory = 'm';  ///< It takes more memory than the request has.

// Where samples go: a pipe whose reader may be slow.

class SampleOutput {
 public:
  /// `fd`: does not block. `most`: bytes that may wait.
  SampleOutput(int fd, std::size_t most) : fd_(fd), most_(most) {}

  /// Takes bytes, and writes what may be written now.
  void write(std::string_view bytes);
  /// Writes all that waits, for as long as there is somebody to read it.
  void finish();

  [[nodiscard]] int fd() const { return fd_; }
  /// Nobody reads it any more.
  [[nodiscard]] bool broken() const { return broken_; }
  /// There is so much that waits that no more samples should be added.
  [[nodiscard]] bool full() const;
  [[nodiscard]] bool waits() const { return !pending_.empty(); }

 private:
  void write_pending();

  int fd_;
  std::size_t most_;
  std::string pending_;
  bool broken_ = false;
};

// All stacks of a profile as one tree, of which each call is told once.

class StackTree {
 public:
  /// `kernel_base`: what is taken away from the kernel's addresses, so that nobody learns where it is.
  /// `memory`: about so many bytes for calls, of which 16 MiB are the most that is used.
  StackTree(std::uint64_t kernel_base, std::uint64_t memory);

  /// The innermost call of a sample's stack. Calls that are new are told to `to`. A stack that would make
  /// more of them than there may be ends where they are used up.
  CallNumber add(const PerfSample& sample, SampleSink& to);

  /// All addresses that are in it, each once, in their order. The kernel's, by the highest bit, stand at the
  /// end.
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

/// Samples a process until the time is over, the other end of `control` is closed, or the process has ended,
/// and writes a stream of samples. Behind the first byte of `samples`: kSampling, or kRefused or kNoMemory
/// with an error's why, a zero byte, and its hint, and nothing else. Ends at once where nobody reads
/// `samples` any more. `process`: a pidfd, by which it is known for sure. This process takes no more than the
/// request's memory from then on.
void run_sampling(const SamplingRequest& request, const UniqueFd& process, const UniqueFd& samples,
                  const UniqueFd& control);

/// One profile, as its taker is talked to.
struct SamplingEnds {
  UniqueFd samples;  ///< What run_sampling() writes; doesn't block.
  UniqueFd control;  ///< Closed: that is enough.
  Lifeline lifeline;
};

class SamplerProcess {
 public:
  /// Starts it. `confine`: run there first. Errors: there can be none.
  [[nodiscard]] static Result<SamplerProcess> start(std::function<void()> confine);

  [[nodiscard]] const HelperProcess& process() const { return process_; }

  /// Has a process sampled; `process`: a pidfd of it. Errors: the sampler is gone.
  [[nodiscard]] Result<SamplingEnds> begin(const SamplingRequest& request, const UniqueFd& process) const;

 private:
  explicit SamplerProcess(HelperProcess process) : process_(std::move(process)) {}

  HelperProcess process_;
};

}  // namespace farport::router
