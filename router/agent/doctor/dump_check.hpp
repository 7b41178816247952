// Whether a runtime can be dumped or profiled: the facts that decide it, and the verdict that follows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/finding.hpp"
#include "router/agent/dumps/dump_directory.hpp"
#include "router/agent/runtimes/createdump.hpp"
#include "router/agent/sampler/perf_counters.hpp"
#include "router/agent/sampler/sampler_process.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

/// The result of one check of a runtime.
struct Verdict {
  Finding finding;
  std::string summary;  ///< Without any name: "can be dumped".
};

/// The facts that decide whether a runtime can be dumped.
struct DumpFacts {
  Createdump createdump{};
  int ptrace_scope = 0;                 ///< Yama's (ptrace(2)); 0 if the kernel has no Yama.
  bool may_trace = false;               ///< The runtime has CAP_SYS_PTRACE, and so has its createdump.
  bool dumpable = true;                 ///< The process lets itself be traced (prctl(2), PR_SET_DUMPABLE).
  bool filtered = false;                ///< Its system calls are filtered.
  std::string directory{};              ///< Where the dump would go, as the agent sees it.
  std::optional<Error> no_directory{};  ///< Why the dump can't go there.
  std::optional<Error> too_large{};     ///< Why the application would not live through one with its heap.
  std::optional<Error> no_memory{};     ///< Why it would not live through the smallest one.
};

/// What the look at a dump needs of the agent.
struct DumpLooks {
  DumpSettings settings;
  std::shared_ptr<const SamplerProcess> sampler;  ///< May be null.
};

/// Examines a runtime's process, and makes and removes a directory for a dump. `socket` is the path of the
/// runtime's socket. Blocks for as long as the process likes.
[[nodiscard]] DumpFacts look_at_dump(const DumpLooks& by, const transport::PeerCredentials& process,
                                     const std::string& socket, const Runtime& runtime);

/// Decides by these facts. `name` is the runtime's.
[[nodiscard]] Verdict judge_dump(const DumpFacts& facts, const std::string& name);

/// Decides whether the kernel lets a runtime be profiled. `name` is the runtime's; `tried`: what the sampler
/// has found out.
[[nodiscard]] Verdict judge_profile(const Result<SamplingTry>& tried, const std::string& name);

}  // namespace farport::router
