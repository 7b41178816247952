// The registry: the runtimes that an agent offers, and who wants to hear of changes.
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

// Which container a process is in, by what the kernel tells of it. No container engine is asked.

/// By the text of /proc/PID/cgroup (v1 and v2) and of /proc/PID/mountinfo, in the forms of docker, podman,
/// containerd and cri-o. The id comes from the cgroup, or else from where the engine keeps the files that it
/// mounts into the container; name and pod from kubelet's. The pod is known by its UID then: its name is in
/// its hostname.
struct ContainerSigns {
  Container container;
  bool in_pod = false;
};
[[nodiscard]] ContainerSigns signs_of_container(std::string_view cgroup, std::string_view mounts);

/// The same of a process. Does not wait for the process.
[[nodiscard]] ContainerSigns container_of(pid_t pid);

/// A hostname out of a file's content: the first line, if there is nothing in it that a hostname may not have
/// (RFC 1123 section 2.1). Else empty.
[[nodiscard]] std::string_view hostname_in(std::string_view content);

class Registry {
 public:
  /// `host`: the name of this host, which each runtime is listed with.
  explicit Registry(transport::Loop& loop, std::string host = {}) : loop_(loop), host_(std::move(host)) {}
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// A place of the runtime where it can be reached: it is listed while it has one. Ends with the object.
  class Entry;
  /// Lists a runtime that is reached through `port`, which outlives the entry. A runtime may have several
  /// ports (same id): it is listed once, under the name that was configured for one of them. Errors: another
  /// process is listed with that id, which only an impostor can have.
  [[nodiscard]] Result<std::unique_ptr<Entry>> add(Runtime runtime, DiagnosticPort& port, bool named);

  [[nodiscard]] const std::string& host() const { return host_; }

  /// Told how many bytes all runtimes take, more or less, whenever that changes.
  void on_size(std::function<void(std::uint64_t bytes)> told) { on_size_ = std::move(told); }

  /// Which runtimes count.
  using Filter = std::function<bool(const Runtime&)>;
  [[nodiscard]] std::vector<RuntimePtr> all(const Filter& filter) const;
  /// One runtime, and how it is told of.
  struct Told {
    RuntimePtr runtime;
    std::shared_ptr<const std::string> text;  ///< Its object in JSON, made once for each change.
  };
  /// The first one that counts and has an id above `id`; nothing where there is none. Whoever lists all with
  /// this keeps no list meanwhile: what comes and goes may be missing in it, everything else is there once.
  [[nodiscard]] std::optional<Told> next_after(std::string_view id, const Filter& filter);
  /// nullptr where there is none.
  [[nodiscard]] RuntimePtr find(std::string_view id) const;
  /// The runtime that a person means (see choose_runtime()), of those that count.
  [[nodiscard]] Result<Runtime> choose(std::string_view wanted, const Filter& filter) const;
  /// The processes of all listed runtimes, as far as they are visible here.
  [[nodiscard]] std::set<pid_t> processes() const;
  /// One of them: a process that isn't visible here is left out.
  struct Process {
    std::string id;  ///< The runtime's.
    pid_t pid = 0;
    std::uint64_t start = 0;  ///< When it began: see DiagnosticPort.
  };
  /// Of each listed runtime.
  [[nodiscard]] std::vector<Process> process_of_each() const;
  /// A diagnostic port of the runtime; nullptr when it is gone.
  [[nodiscard]] DiagnosticPort* port(std::string_view id) const;
  /// All of its diagnostic ports.
  [[nodiscard]] std::vector<DiagnosticPort*> ports(std::string_view id) const;

  /// Tells that a listed runtime has changed: its state, or what it says of itself. Name and time stay.
  void update(Runtime runtime);

  /// Tells what keeps a runtime from answering. The runtime as it is listed now, if that is new; else
  /// nullptr.
  RuntimePtr set_halt(const std::string& id, Halt halt);

  /// Reports all runtimes now and every change from now on, as far as `filter` lets them count.
  class Watch;
  [[nodiscard]] std::unique_ptr<Watch> watch(Filter filter = {});

 private:
  struct Listed {
    RuntimePtr runtime;
    std::shared_ptr<const std::string> text;  ///< Of this runtime, once somebody has wanted it.
    Halt first_halt = Halt::none;  ///< What it was listed with, which stands where nothing else is known.
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
  std::map<std::string, std::string, std::less<>> former_ids_;  ///< What those are called now.
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

  /// The runtime was listed with another id before: callers that know it by that one find it all the same.
  void was_called(std::string id);

 private:
  friend class Registry;
  Registry& registry_;
  std::string id_;
  std::string former_id_;  ///< May be empty.
  DiagnosticPort& port_;
};

/// Keeps no events: only which runtimes have changed since they were told of, so that a reader that is slow,
/// or never comes, costs no more than a place for each runtime. Changes of one runtime between two reads are
/// one change.
class Registry::Watch {
 public:
  Watch(Registry& registry, Filter filter);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// The next event, as soon as there is one; nothing once the watch is closed.
  transport::Task<std::optional<RuntimeEvent>> next();
  /// Ends the wait for the next event.
  void close();
  /// How many bytes it keeps, more or less.
  [[nodiscard]] std::size_t kept_bytes() const;

 private:
  friend class Registry;
  void note(const std::string& id);
  [[nodiscard]] std::optional<RuntimeEvent> event_of(const std::string& id);
  [[nodiscard]] std::optional<RuntimeEvent> pending_event();

  Registry& registry_;
  Filter filter_;
  std::set<std::string> first_;    ///< Runtimes that were there at the beginning and have not been told of.
  std::set<std::string> changed_;  ///< Those that have changed since.
  std::map<std::string, RuntimePtr, std::less<>> told_;  ///< What the reader knows.
  bool listed_ = false;                                  ///< The reader has been told that it knows all.
  bool closed_ = false;
  transport::Event arrived_;
};

}  // namespace farport::router
