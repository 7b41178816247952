#include "router/agent/doctor/dump_check.hpp"

#include <cstdlib>

#include <linux/capability.h>
#include <sys/stat.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "base/resources.hpp"
#include "router/agent/dumps/dump_need.hpp"
#include "router/agent/runtimes/memory_group.hpp"
#include "router/agent/sampler/sampler_looks.hpp"
#include "transport/child_process.hpp"

namespace farport::router {
namespace {

using Level = Finding::Level;
using State = Createdump::State;

/// Scopes of Yama (Documentation/admin-guide/LSM/Yama.rst). In scope 1 a process may be traced by one that it
/// has named, and the runtime names its createdump.
constexpr int kAdminsOnly = 2;
constexpr int kNobody = 3;

int ptrace_scope() {
  const auto text = read_limited("/proc/sys/kernel/yama/ptrace_scope", 16);
  return text ? std::atoi(text->c_str()) : 0;
}

/// Files in /proc belong to root if the process isn't dumpable (proc(5)).
bool is_dumpable(pid_t pid, uid_t user) {
  struct stat status {};
  return ::stat(directory_of_process(pid).c_str(), &status) != 0 || status.st_uid == user;
}

void look_at_rights(DumpFacts& facts, const SamplerProcess* sampler,
                    const transport::PeerCredentials& process, bool native) {
  facts.createdump = look_for_createdump(sampler, process.pid, process.uid, native);
  if (process.pid <= 0) return;
  facts.ptrace_scope = ptrace_scope();
  facts.dumpable = is_dumpable(process.pid, process.uid);
  if (const auto status = process_status(process.pid)) {
    facts.may_trace = (status->capabilities >> CAP_SYS_PTRACE & 1U) != 0;
    facts.filtered = status->filtered;
  }
}

void look_at_directory(DumpFacts& facts, const DumpLooks& by, const transport::PeerCredentials& process,
                       const std::string& socket, const Runtime& runtime) {
  auto shared = find_shared_directory(by.settings, process, socket);
  if (!shared) {
    facts.no_directory = shared.error();
    return;
  }
  facts.directory = shared->here;
  const auto directory = DumpDirectory::make(std::move(*shared), process.uid);
  if (!directory) {
    facts.no_directory = directory.error();
    return;
  }
  const auto dumped = look_before_dump(process.pid, runtime.version);
  constexpr auto kWithHeap = ipc::DumpType::with_heap;
  const std::uint64_t size = dumped ? dump_need(*dumped, kWithHeap).file : 0;
  const Result<void> enough = check_space(**directory, by.settings, runtime.name, {size, 0});
  if (!enough) facts.no_directory = enough.error();
  if (!dumped) return;
  const auto group =
      MemoryGroup::find(process, transport::start_time_of(process.pid), own_group_opener(by.sampler));
  const MemoryLeft left{group ? group->room() : std::nullopt, available_memory()};
  const std::string into_memory = (*directory)->is_in_memory() ? (*directory)->path_for_runtime() : "";
  const Result<void> heap = check_memory(left, runtime.name, *dumped, kWithHeap, into_memory);
  const Result<void> mini = check_memory(left, runtime.name, *dumped, ipc::DumpType::normal, into_memory);
  if (!heap) facts.too_large = heap.error();
  if (!mini) facts.no_memory = mini.error();
}

Verdict refused(const std::string& name, const std::string& why, std::string hint,
                const std::string& summary) {
  return {{Level::problem, name + " can't be dumped: " + why, std::move(hint)},
          "can't be dumped: " + summary};
}

/// Why createdump may not read the runtime; nothing if it may.
std::optional<Verdict> against_tracing(const DumpFacts& facts, const std::string& name) {
  const std::string scope = "kernel.yama.ptrace_scope is " + std::to_string(facts.ptrace_scope);
  const std::string summary = "createdump may not read its memory";
  if (facts.ptrace_scope >= kNobody) {
    return refused(name, scope + ", and nobody may trace anything on that host",
                   "it takes kernel.yama.ptrace_scope=1 or less, and a restart of the host", summary);
  }
  if (facts.ptrace_scope == kAdminsOnly && !facts.may_trace) {
    return refused(name, scope + ", and the runtime has no CAP_SYS_PTRACE that its createdump could use",
                   "sysctl kernel.yama.ptrace_scope=1, or give the application's container CAP_SYS_PTRACE",
                   summary);
  }
  if (!facts.dumpable && !facts.may_trace) {
    return refused(name, "its process doesn't let itself be traced (it isn't dumpable)",
                   "start it without file capabilities or a change of its user", summary);
  }
  return std::nullopt;
}

std::optional<Verdict> against_createdump(const Createdump& createdump, const std::string& name) {
  const auto error = refusal_of(createdump, name, ipc::DumpType::full);
  if (!error) return std::nullopt;
  if (createdump.state == State::never)
    return Verdict{{Level::warning, name + " can't be dumped: " + error->why, error->hint},
                   "can't be dumped"};
  return refused(
      name, error->why, error->hint,
      createdump.state == State::missing ? "there is no createdump" : "createdump can't be started");
}

/// What can't be dumped of it, though something can.
std::optional<Verdict> against_heap(const DumpFacts& facts, const std::string& name) {
  if (facts.no_memory) {
    return refused(name, facts.no_memory->why, facts.no_memory->hint, "there is too little memory");
  }
  if (facts.too_large) {
    return Verdict{{Level::warning, name + " can't be dumped with its heap: " + facts.too_large->why,
                    facts.too_large->hint},
                   "can't be dumped with its heap: there is too little memory"};
  }
  if (const auto error = refusal_of(facts.createdump, name, ipc::DumpType::with_heap)) {
    return Verdict{{Level::warning, name + " can be dumped by --type full alone: " + error->why, error->hint},
                   "can be dumped by --type full alone"};
  }
  return std::nullopt;
}

}  // namespace

DumpFacts look_at_dump(const DumpLooks& by, const transport::PeerCredentials& process,
                       const std::string& socket, const Runtime& runtime) {
  DumpFacts facts;
  look_at_rights(facts, by.sampler.get(), process, runtime.native);
  look_at_directory(facts, by, process, socket, runtime);
  return facts;
}

Verdict judge_dump(const DumpFacts& facts, const std::string& name) {
  if (facts.no_directory) {
    return refused(name, facts.no_directory->on + ": " + facts.no_directory->why, facts.no_directory->hint,
                   "there is no place for it");
  }
  if (auto why = against_createdump(facts.createdump, name)) return *why;
  if (auto why = against_tracing(facts, name)) return *why;
  if (auto why = against_heap(facts, name)) return *why;
  const std::string where = " can be dumped, into " + facts.directory;
  if (facts.createdump.state == State::unknown) {
    return {{Level::warning,
             name + where + ", if it has a createdump: that can't be seen, since " + facts.createdump.why,
             "farport dump tries it; the application stands still meanwhile"},
            "can be dumped if there is a createdump, which can't be seen"};
  }
  const std::string filter = facts.filtered
                                 ? "; its system calls are filtered, and the filter must have ptrace and "
                                   "process_vm_readv, as engines' usual ones have"
                                 : "";
  return {{Level::ok, name + where + filter}, "can be dumped"};
}

namespace {

constexpr const char* kNotNeeded = "dotnet-trace's own sampling doesn't need it";

Verdict possible(const std::string& name) {
  return {{Level::ok, name + " can be profiled by the kernel"}, "can be profiled by the kernel"};
}

Verdict impossible(const std::string& name, const std::string& why, const std::string& hint) {
  return {{Level::warning, name + " can't be profiled by the kernel: " + why, hint + "; " + kNotNeeded},
          "can't be profiled by the kernel"};
}

}  // namespace

Verdict judge_profile(const Result<SamplingTry>& tried, const std::string& name) {
  if (!tried)
    return impossible(name, tried.error().why,
                      tried.error().hint.empty() ? "start the agent again" : tried.error().hint);
  if (tried->error == 0) return possible(name);
  const Error refused = explain_perf_refusal(tried->facts, tried->error);
  return impossible(name, refused.why, refused.hint);
}

}  // namespace farport::router
