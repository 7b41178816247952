// The process that samples others for the agent. It is there before the agent has given anything up, and
// keeps what sampling takes; the agent, which faces the network, needs none of it.
#pragma once

#include <functional>

#include "router/agent/sampler/sampling.hpp"
#include "router/helpers/helper_process.hpp"

namespace farport::router {

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
