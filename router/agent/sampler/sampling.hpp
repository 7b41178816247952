// One profile, in the process that takes it.
#pragma once

#include "base/unique_fd.hpp"
#include "router/agent/sampler/sampling_request.hpp"

namespace farport::router {

/// Samples a process until the time is over, the other end of `control` is closed, or the process has ended,
/// and writes a stream of samples. Behind the first byte of `samples`: kSampling, or kRefused or kNoMemory
/// with an error's why, a zero byte, and its hint, and nothing else. Ends at once where nobody reads
/// `samples` any more. `process`: a pidfd, by which it is known for sure. This process takes no more than the
/// request's memory from then on.
void run_sampling(const SamplingRequest& request, const UniqueFd& process, const UniqueFd& samples,
                  const UniqueFd& control);

}  // namespace farport::router
