// The process that samples others for the agent. It is there before the agent has given anything up, and
// keeps what sampling takes; the agent, which faces the network, needs none of it.
#pragma once

#include <functional>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/sampler/sampling_request.hpp"
#include "transport/task.hpp"

namespace farport::transport {
class Loop;
}

namespace farport::router {

/// One profile, as its taker is talked to.
struct SamplingEnds {
  UniqueFd samples;  ///< What run_sampling() writes; doesn't block.
  UniqueFd control;  ///< Closed: that is enough.
};

class SamplerProcess {
 public:
  /// Starts it: a copy of this process, which must have no threads, without any of its files. `confine`: run
  /// there first. It ends with this object, and with this process. Errors: there can be none.
  [[nodiscard]] static Result<SamplerProcess> start(const std::function<void()>& confine);

  SamplerProcess(SamplerProcess&&) = default;
  SamplerProcess& operator=(SamplerProcess&&) = delete;
  /// Ends it, and waits for it if it is a child of this process.
  ~SamplerProcess();

  /// Whether it has not ended.
  [[nodiscard]] bool running() const;
  /// Passes when it has ended, whatever has ended it.
  transport::Task<void> ended(transport::Loop& loop) const;

  /// Has a process sampled; `process`: a pidfd of it. Errors: the sampler is gone.
  [[nodiscard]] Result<SamplingEnds> begin(const SamplingRequest& request, const UniqueFd& process) const;

 private:
  SamplerProcess(UniqueFd requests, UniqueFd process)
      : requests_(std::move(requests)), process_(std::move(process)) {}

  UniqueFd requests_;
  UniqueFd process_;  ///< A pidfd.
};

}  // namespace farport::router
