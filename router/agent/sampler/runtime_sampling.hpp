// RuntimeSampling: one sampling of a runtime's process, by the agent's sampler.
#pragma once

#include <memory>

#include "base/unique_fd.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/agent/sampler/sampler_process.hpp"
#include "router/wire/runtime.hpp"
#include "transport/fd_stream.hpp"
#include "transport/task.hpp"

namespace farport::router {

class RuntimeSampling {
 public:
  /// Asks for it; `sampler` may be null, and the process and its user are set here. Errors: the process is
  /// not visible or has ended, or there is no sampler.
  [[nodiscard]] static Result<std::unique_ptr<RuntimeSampling>> ask(transport::Loop& loop,
                                                                    const Registry& registry,
                                                                    const SamplerProcess* sampler,
                                                                    const Runtime& runtime,
                                                                    SamplingRequest request);
  RuntimeSampling(transport::Loop& loop, SamplingEnds ends)
      : loop_(loop),
        stream_(loop, std::move(ends.samples), "the samples"),
        control_(std::move(ends.control)),
        lifeline_(std::move(ends.lifeline)) {}

  /// Waits until it samples. Errors: the process may not, or can't, be sampled (ENOTSUP); there is too little
  /// memory (ENOMEM); or the sampler does not answer. `name` is the runtime's, for errors.
  transport::Task<Result<void>> begin(std::string name);
  /// The stream of samples, once it has begun.
  [[nodiscard]] transport::FdStream& stream() { return stream_; }
  /// Ends it. The rest of the stream follows.
  void stop() { control_.reset(); }

 private:
  transport::Task<Result<void>> await_begin(std::string name);

  transport::Loop& loop_;
  transport::FdStream stream_;
  UniqueFd control_;
  Lifeline lifeline_;
};

}  // namespace farport::router
