// Sampling what a runtime's threads do: on the processor, which its agent has the kernel do, or all of them.
#pragma once

#include <functional>
#include <string>

#include "router/cpu_samples/cpu_samples.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

/// How it is sampled.
struct CpuSampling {
  std::uint32_t frequency = 99;              ///< A second, of each busy thread.
  transport::Milliseconds duration{10'000};  ///< At most: the agent ends it then.
  bool wall = false;                         ///< All threads, by looking from outside.
};

/// One profile of one runtime. Goes on in the next session when one breaks. Destroying it ends the sampling.
class CpuProfile {
 public:
  /// Of the runtime with this id, behind the agent of these sessions. Asks at once.
  CpuProfile(SessionManager& sessions, const std::string& runtime_id, const CpuSampling& sampling);
  CpuProfile(const CpuProfile&) = delete;
  CpuProfile& operator=(const CpuProfile&) = delete;

  /// Passes when it is being sampled: samples().start() says how. Errors: the agent refuses it (`cause` as
  /// with other requests), or can't have it sampled, and says why.
  transport::Task<Result<void>> begin();
  /// Passes when all has come: the time is over, stop() was called, or the process has ended. After begin().
  /// `came` is told of each piece's bytes.
  transport::Task<Result<void>> receive(std::function<void(std::size_t)> came);
  /// Ends the sampling before its time. receive() passes once the addresses have been named.
  transport::Task<Result<void>> stop();

  [[nodiscard]] const CpuSamples& samples() const { return samples_; }
  /// For more names of what has been sampled.
  [[nodiscard]] CpuSamples& samples() { return samples_; }

 private:
  transport::Task<Result<std::size_t>> read_piece();

  bool wall_;
  CpuSamples samples_;
  SampleReader reader_;
  ResumableRequest request_;
};

}  // namespace farport::router
