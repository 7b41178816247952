#include "router/agent/sampler/sampler_work.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "transport/child_process.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Io;
using transport::IoStatus;
using transport::Task;

/// How long it may take until it is known whether the kernel samples.
constexpr transport::Milliseconds kUntilItSamples{10'000};
constexpr std::size_t kMaxShownRefusal = 4096;

constexpr const char* kProfile = "profile";
constexpr const char* kReadModules = "read the modules of";

template <typename Request>
Result<std::unique_ptr<SamplerWork>> asked(transport::Loop& loop, const Registry& registry,
                                           const SamplerProcess* sampler, const Runtime& runtime,
                                           Request request, const char* what) {
  if (sampler == nullptr) return fail(what, runtime.name, "the agent could not start its sampler process");
  const DiagnosticPort* const port = registry.port(runtime.id);
  if (port == nullptr) return fail(what, runtime.name, "it has ended");
  request.process = port->process().pid;
  request.user = port->process().uid;
  if (request.process <= 0)
    return fail(what, runtime.name,
                "its process is not visible to the agent; share its pid namespace with it (in a pod: "
                "shareProcessNamespace)");
  const UniqueFd process = transport::open_pidfd(request.process);
  // The pid may belong to another process by now.
  if (!process || transport::start_time_of(request.process) != port->process_start())
    return fail(what, runtime.name, "it has ended");
  auto ends = sampler->begin(request, process);
  if (!ends) return fail(what, runtime.name, ends.error().message());
  return std::make_unique<SamplerWork>(loop, std::move(*ends), what);
}

}  // namespace

Result<std::unique_ptr<SamplerWork>> SamplerWork::ask(transport::Loop& loop, const Registry& registry,
                                                      const SamplerProcess* sampler, const Runtime& runtime,
                                                      SamplingRequest request) {
  return asked(loop, registry, sampler, runtime, request, kProfile);
}

Result<std::unique_ptr<SamplerWork>> SamplerWork::ask(transport::Loop& loop, const Registry& registry,
                                                      const SamplerProcess* sampler, const Runtime& runtime,
                                                      ModulesRequest request) {
  return asked(loop, registry, sampler, runtime, request, kReadModules);
}

Task<Result<void>> SamplerWork::begin(std::string name) {
  const auto begun = co_await with_deadline(loop_, await_begin(name), kUntilItSamples);
  if (!begun) co_return fail(what_, name, "the sampler does not answer");
  co_return *begun;
}

Task<Result<void>> SamplerWork::await_begin(std::string name) {
  std::string said(1, '\0');
  const Io first = co_await stream_.read(std::as_writable_bytes(std::span(said)));
  if (first.status != IoStatus::ok) co_return fail(what_, name, "the agent's sampler process has exited");
  if (said[0] == kSampling) co_return Result<void>();
  std::string text(kMaxShownRefusal, '\0');
  const Io rest = co_await stream_.read_exactly(std::as_writable_bytes(std::span(text)));
  text.resize(rest.bytes);
  const std::size_t zero = std::min(text.find('\0'), text.size());
  const Cause cause(said[0] == kNoMemory ? ENOMEM : ENOTSUP);
  const Error why{what_, name, text.substr(0, zero), text.substr(std::min(zero + 1, text.size())), cause};
  co_return tl::unexpected(why);
}

}  // namespace farport::router
