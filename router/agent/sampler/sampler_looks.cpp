#include "router/agent/sampler/sampler_looks.hpp"

#include <optional>
#include <string>
#include <utility>

namespace farport::router {

Createdump look_for_createdump(const SamplerProcess* sampler, pid_t pid, uid_t user, bool native) {
  const auto unknown = [](std::string why) {
    return Createdump{Createdump::State::unknown, {}, std::move(why)};
  };
  if (pid <= 0) return unknown("its process isn't visible here");
  if (sampler == nullptr) return unknown("the agent could not start the process that looks at others");
  const auto seen = sampler->look({LookRequest::What::createdump, pid, user, native});
  if (!seen) return unknown(seen.error().why);
  auto found = createdump_in(*seen);
  return found ? std::move(*found) : unknown("the look at it has failed");
}

Result<SamplingTry> look_whether_sampled(const SamplerProcess* sampler, pid_t pid, uid_t user) {
  constexpr const char* kTry = "sample";
  const std::string on = "process " + std::to_string(pid);
  if (pid <= 0)
    return fail(kTry, on, "its process is not visible to the agent",
                "share its pid namespace with the agent (in a pod: shareProcessNamespace)");
  if (sampler == nullptr) return fail(kTry, on, "the agent could not start the process that takes profiles");
  ASSIGN_OR_RETURN(const auto seen, sampler->look({LookRequest::What::sampling, pid, user, false}));
  const auto tried = sampling_in(seen);
  if (!tried) return fail(kTry, on, "the look at it has failed");
  return *tried;
}

OwnGroupOpener own_group_opener(std::shared_ptr<const SamplerProcess> sampler) {
  return [sampler = std::move(sampler)](pid_t pid, uid_t user) -> std::optional<MemoryGroupFiles> {
    if (sampler == nullptr) return std::nullopt;
    auto seen = sampler->look({LookRequest::What::memory_group, pid, user, false});
    if (!seen) return std::nullopt;
    return memory_group_in(std::move(*seen));
  };
}

}  // namespace farport::router
