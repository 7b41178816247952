// What is checked of one runtime: whether a dump can be taken, by what decides it, and a profile. Neither is
// taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/finding.hpp"
#include "router/agent/dumps/dump_directory.hpp"
#include "router/agent/runtimes/process_root.hpp"
#include "router/agent/sampler/perf_counters.hpp"

namespace farport::router {

// What a check of one runtime comes to.

/// What an agent has given up that a check would need.
struct OwnConfinement {
  bool files = false;         ///< Landlock, which also forbids looking into processes.
  bool system_calls = false;  ///< A filter that has none of the kernel's profiling.
};

struct Verdict {
  Finding finding;
  std::string summary;  ///< Without any name: "can be dumped".
};

// The program that writes a runtime's dump: it is beside the runtime's own library, in the runtime's file
// system.

/// The directory of libcoreclr.so in the text of /proc/PID/maps. None where it is not mapped: the runtime is
/// part of the program then.
[[nodiscard]] std::optional<std::string> coreclr_directory_in(std::string_view maps);

struct CreatedumpFile {
  enum class State { unknown, there, missing, not_executable };
  State state = State::unknown;
  std::string path;  ///< Where it is to be, as the runtime sees it; empty where that is unknown.
};

/// Looks for it. Blocks for as long as the process's file systems like.
[[nodiscard]] CreatedumpFile find_createdump(const ProcessRoot& root);

/// What decides it.
struct DumpFacts {
  std::optional<Error> closed{};  ///< Why the process can't be looked into.
  CreatedumpFile createdump{};
  int ptrace_scope = 0;                 ///< Of Yama (ptrace(2)); 0 where the kernel has none.
  bool may_trace = false;               ///< The runtime has CAP_SYS_PTRACE, and so has its createdump.
  bool dumpable = true;                 ///< The process lets itself be traced (prctl(2), PR_SET_DUMPABLE).
  bool filtered = false;                ///< Its system calls are filtered.
  std::string directory{};              ///< Where the dump would go, for the agent.
  std::optional<Error> no_directory{};  ///< Why it can't go there.
};

/// Looks at a runtime's process, makes a dump's directory and removes it. `port`: whose process it is, and
/// where its socket is. Blocks for as long as the process likes.
[[nodiscard]] DumpFacts look_at_dump(const DumpSettings& settings, const transport::PeerCredentials& process,
                                     const std::string& socket, const std::string& name);

/// What follows from that. `name`: the runtime's.
[[nodiscard]] Verdict judge_dump(const DumpFacts& facts, const std::string& name, const OwnConfinement& own);

// Whether the kernel lets a runtime's process be profiled (perf_event_open(2)).

/// What decides it.
struct ProfileFacts : PerfFacts {
  std::optional<int> tried{};  ///< What came of a try: 0, or an errno value. None: it was not tried.
};

/// Opens a counter on the process and closes it at once, unless our confinement has no such system call.
[[nodiscard]] ProfileFacts look_at_profile(pid_t pid, uid_t user, const OwnConfinement& own);

/// What holds where the process that takes profiles does not run.
[[nodiscard]] Verdict no_sampler(const std::string& name);

/// What follows from that. `name`: the runtime's.
[[nodiscard]] Verdict judge_profile(const ProfileFacts& facts, const std::string& name);

}  // namespace farport::router
