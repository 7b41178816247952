// CpuProfile: sampling a runtime's threads through its agent, by CPU time or by wall-clock time.
#pragma once

#include <functional>
#include <string>

#include "router/cpu_samples/cpu_samples.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/wire/samples.hpp"

namespace farport::router {

/// How a runtime is sampled.
struct CpuSampling {
  std::uint32_t frequency = 99;              ///< Samples per second and thread.
  transport::Milliseconds duration{10'000};  ///< The agent ends the sampling after this long.
  bool wall = false;  ///< Sample all threads, whether they run or not, by reading them from outside.
};

/// One profile of one runtime. Continues in the next session when a session breaks. Destroying it ends the
/// sampling.
class CpuProfile {
 public:
  /// Requests the profile at once, from the agent of these sessions.
  CpuProfile(SessionManager& sessions, const std::string& runtime_id, const CpuSampling& sampling);
  CpuProfile(const CpuProfile&) = delete;
  CpuProfile& operator=(const CpuProfile&) = delete;

  /// Waits until sampling has started; samples().start() then says how. Fails if the agent refuses (`cause`
  /// as for other requests) or can't sample the runtime.
  transport::Task<Result<void>> begin();
  /// After begin(): receives samples until the duration is over, stop() was called, or the process has ended.
  /// Calls `came` with the size of each piece.
  transport::Task<Result<void>> receive(std::function<void(std::size_t)> came);
  /// Ends the sampling early. receive() returns once symbols have been resolved.
  transport::Task<Result<void>> stop();

  [[nodiscard]] const CpuSamples& samples() const { return samples_; }
  /// Writable, so that the caller can add names of functions.
  [[nodiscard]] CpuSamples& samples() { return samples_; }

 private:
  transport::Task<Result<std::size_t>> read_piece();

  bool wall_;
  CpuSamples samples_;
  SampleReader reader_;
  ResumableRequest request_;
};

}  // namespace farport::router
