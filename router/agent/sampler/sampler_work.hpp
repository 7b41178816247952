// SamplerWork: what the agent's sampler does for a runtime's process: samples it, or reads its modules.
#pragma once

#include <memory>
#include <string>

#include "base/unique_fd.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/agent/sampler/sampler_process.hpp"
#include "router/wire/runtime.hpp"
#include "transport/fd_stream.hpp"
#include "transport/task.hpp"

namespace farport::router {

class SamplerWork {
 public:
  /// Asks for it; `sampler` may be null, and the process and its user are set here. Errors: the process is
  /// not visible or has ended, or there is no sampler.
  [[nodiscard]] static Result<std::unique_ptr<SamplerWork>> ask(transport::Loop& loop,
                                                                const Registry& registry,
                                                                const SamplerProcess* sampler,
                                                                const Runtime& runtime,
                                                                SamplingRequest request);
  [[nodiscard]] static Result<std::unique_ptr<SamplerWork>> ask(transport::Loop& loop,
                                                                const Registry& registry,
                                                                const SamplerProcess* sampler,
                                                                const Runtime& runtime,
                                                                ModulesRequest request);
  /// `what` it does, for errors: "profile".
  SamplerWork(transport::Loop& loop, SamplerEnds ends, const char* what)
      : loop_(loop),
        what_(what),
        stream_(loop, std::move(ends.answer), "the sampler's answer"),
        control_(std::move(ends.control)),
        lifeline_(std::move(ends.lifeline)) {}

  /// Waits until it does. Errors: the process may not, or can't, be looked at (ENOTSUP); there is too little
  /// memory (ENOMEM); or the sampler does not answer. `name` is the runtime's, for errors.
  transport::Task<Result<void>> begin(std::string name);
  /// The stream of samples, or the archive of modules, once it has begun.
  [[nodiscard]] transport::FdStream& stream() { return stream_; }
  /// Ends a sampling. The rest of the stream follows.
  void stop() { control_.reset(); }

 private:
  transport::Task<Result<void>> await_begin(std::string name);

  transport::Loop& loop_;
  const char* what_;
  transport::FdStream stream_;
  UniqueFd control_;
  Lifeline lifeline_;
};

}  // namespace farport::router
