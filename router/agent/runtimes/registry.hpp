// Registry: the runtimes that an agent offers, and those who watch for changes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "router/wire/runtime.hpp"
#include "transport/event.hpp"

namespace farport::router {

/// The container that a process is in, as far as the kernel tells. No container engine is asked.
struct ContainerSigns {
  Container container;
  bool in_pod = false;
};
/// Reads the text of /proc/PID/cgroup (v1 and v2) and /proc/PID/mountinfo, in the forms of docker, podman,
/// containerd and cri-o. The id comes from the cgroup, or else from the paths of files that the engine mounts
/// into the container. The name, and whether there is a pod, come from kubelet's paths. The pod's name is
/// only in its hostname.
[[nodiscard]] ContainerSigns signs_of_container(std::string_view cgroup, std::string_view mounts);

/// The same for a process. Does not wait for the process.
[[nodiscard]] ContainerSigns container_of(pid_t pid);

/// Whether the process has NativeAOT's runtime instead of CoreCLR, as far as its threads tell: from its start
/// on, CoreCLR has one that is called ".NET SynchManag" (seen in .NET 8, 9 and 10, suspended or not), and a
/// command line that names an assembly, unless the program is a single file. False if the process isn't
/// visible here.
[[nodiscard]] bool is_native_program(pid_t pid, std::string_view command_line);

/// The hostname in a file's content: the first line, if it contains only what a hostname may (RFC 1123
/// section 2.1). Otherwise empty.
[[nodiscard]] std::string_view hostname_in(std::string_view content);

/// The runtimes that the agent offers. Each has one or more ports.
class Registry {
 public:
  /// `host` is this host's name, with which each runtime is listed.
  explicit Registry(transport::Loop& loop, std::string host = {}) : loop_(loop), host_(std::move(host)) {}
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// A port of a runtime. The runtime is listed as long as it has an Entry.
  class Entry;
  /// Lists a runtime that is reached through `port`, which must outlive the entry. A runtime with several
  /// ports (and the same id) is listed once, under the name that is configured for one of them. Errors:
  /// another process is listed with that id, so one of the two is an impostor.
  [[nodiscard]] Result<std::unique_ptr<Entry>> add(Runtime runtime, DiagnosticPort& port, bool named);

  [[nodiscard]] transport::Loop& loop() const { return loop_; }
  [[nodiscard]] const std::string& host() const { return host_; }

  /// `told` is called with the approximate size of all runtimes in bytes, whenever it changes.
  void on_size(std::function<void(std::uint64_t bytes)> told) { on_size_ = std::move(told); }

  /// Selects runtimes.
  using Filter = std::function<bool(const Runtime&)>;
  [[nodiscard]] std::vector<RuntimePtr> all(const Filter& filter) const;
  /// One runtime, and its JSON.
  struct ListedRuntime {
    RuntimePtr runtime;
    std::shared_ptr<const std::string> text;  ///< A JSON object, made once for each change.
  };
  /// The first runtime that passes the filter and has an id above `id`. Lists can be made with this without a
  /// copy: a runtime that comes or goes meanwhile may be missing, and every other one is there once.
  [[nodiscard]] std::optional<ListedRuntime> next_after(std::string_view id, const Filter& filter);
  /// The runtime with this id, present or former, or nullptr.
  [[nodiscard]] RuntimePtr find(std::string_view id) const;
  /// The runtime that a person means (see choose_runtime()), among those that pass the filter.
  [[nodiscard]] Result<Runtime> choose(std::string_view wanted, const Filter& filter) const;
  /// The processes of all listed runtimes, if they are visible here.
  [[nodiscard]] std::set<pid_t> processes() const;
  /// The process of a runtime.
  struct Process {
    std::string id;  ///< The runtime's.
    pid_t pid = 0;
    std::uint64_t start = 0;  ///< Its start time: see DiagnosticPort.
  };
  /// The process of each listed runtime whose process is visible here.
  [[nodiscard]] std::vector<Process> process_of_each() const;
  /// A port of the runtime, or nullptr if the runtime has ended.
  [[nodiscard]] DiagnosticPort* port(std::string_view id) const;
  /// All ports of the runtime.
  [[nodiscard]] std::vector<DiagnosticPort*> ports(std::string_view id) const;

  /// Changes a listed runtime: its state, or what it says about itself. Its name and start time stay.
  void update(Runtime runtime);

  /// Sets what keeps a runtime from answering. Returns the runtime if that is a change, otherwise nullptr.
  RuntimePtr set_halt(const std::string& id, Halt halt);

  /// Reports all present runtimes and then every change, for those that pass the filter.
  class Watch;
  [[nodiscard]] std::unique_ptr<Watch> watch(Filter filter = {});

 private:
  struct Listed {
    RuntimePtr runtime;
    std::shared_ptr<const std::string> text;  ///< Made when somebody first asks for it.
    Halt first_halt = Halt::none;  ///< The value it was listed with, which holds while nothing else is known.
    std::vector<Entry*> entries;
  };
  [[nodiscard]] const Listed* listed(std::string_view id) const;
  void remove(Entry& entry);
  void change(Listed& listed, Runtime runtime);
  void replace(Listed& listed, Runtime runtime);
  void count(const Runtime* before, const Runtime* now);
  void tell(const std::string& id);

  transport::Loop& loop_;
  std::string host_;
  std::map<std::string, Listed, std::less<>> listed_;
  std::map<std::string, std::string, std::less<>> aliases_;  ///< The present id for each former one.
  std::vector<Watch*> watches_;
  std::uint64_t bytes_ = 0;
  std::function<void(std::uint64_t bytes)> on_size_;
};

class Registry::Entry {
 public:
  Entry(Registry& registry, std::string id, DiagnosticPort& port)
      : registry_(registry), id_(std::move(id)), port_(port) {}
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ~Entry() { registry_.remove(*this); }

  /// Lets callers find the runtime by an id with which it was listed before.
  void add_alias(std::string id);

 private:
  friend class Registry;
  Registry& registry_;
  std::string id_;
  std::string former_id_;  ///< May be empty.
  DiagnosticPort& port_;
};

/// Keeps no events, only which runtimes have changed since they were last reported. A slow reader, or one
/// that never reads, costs one element for each runtime. Several changes of a runtime between two reads are
/// one.
class Registry::Watch {
 public:
  Watch(Registry& registry, Filter filter);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// Waits for the next event. Returns nothing once the watch is closed.
  transport::Task<std::optional<RuntimeEvent>> next();
  /// Ends the wait in next().
  void close();
  /// The approximate number of bytes that it keeps.
  [[nodiscard]] std::size_t kept_bytes() const;

 private:
  friend class Registry;
  void note(const std::string& id);
  [[nodiscard]] std::optional<RuntimeEvent> event_of(const std::string& id);
  [[nodiscard]] std::optional<RuntimeEvent> pending_event();

  Registry& registry_;
  Filter filter_;
  std::set<std::string> first_;                          ///< Present at the beginning, and not reported yet.
  std::set<std::string> changed_;                        ///< Changed since then, and not reported yet.
  std::map<std::string, RuntimePtr, std::less<>> told_;  ///< What the reader knows.
  bool listed_ = false;                                  ///< The reader knows all of first_.
  bool closed_ = false;
  transport::Event arrived_;
};

}  // namespace farport::router
