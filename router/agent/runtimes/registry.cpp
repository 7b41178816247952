#include "router/agent/runtimes/registry.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "base/text.hpp"
#include "router/agent/runtimes/process_walk.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kIdLength = 64;
constexpr std::size_t kUidLength = 36;
constexpr std::size_t kMaxCgroups = 16 * 1024;
/// A hostname has at most 64 bytes on Linux, and 253 with its domain.
constexpr std::size_t kLongestPodName = 253;
/// A container's name in a pod is a label (RFC 1123).
constexpr std::size_t kLongestLabel = 63;

bool is_id(std::string_view text) {
  return text.size() == kIdLength && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_host_text(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_letter_or_digit(c) || c == '-' || c == '.'; });
}

/// The id in a component like "docker-ID.scope", "libpod-ID", "cri-containerd-ID.scope", "crio-ID.scope",
/// "SLICE:cri-containerd:ID" or "ID".
std::string_view id_in(std::string_view component) {
  constexpr std::string_view kScope = ".scope";
  if (component.ends_with(kScope)) component.remove_suffix(kScope.size());
  const std::size_t mark = component.find_last_of("-:");
  if (mark != std::string_view::npos) component.remove_prefix(mark + 1);
  return is_id(component) ? component : std::string_view();
}

/// Whether a cgroup is a pod's: kubelet's "podUID" and "kubepods-…-podUID.slice", podman's
/// "…-libpod_pod_ID.slice".
bool is_pod(std::string_view component) {
  const bool kubelet = component.find("pod") != std::string_view::npos && component.size() > kUidLength &&
                       (component.starts_with("pod") || component.find("-pod") != std::string_view::npos);
  return kubelet || component.find("libpod_pod_") != std::string_view::npos;
}

void read_cgroup(std::string_view path, ContainerSigns& signs) {
  bool below_id = false;
  while (!path.empty()) {
    const std::string_view component = take_until(path, '/');
    signs.in_pod = signs.in_pod || is_pod(component);
    const std::string_view id = id_in(component);
    if (id.empty()) continue;
    // Podman without systemd puts a pod's containers below the pod's own id.
    signs.in_pod = signs.in_pod || (below_id && component.starts_with("libpod-"));
    below_id = component == id;
    // The innermost id is the container's.
    signs.container.id = id;
  }
}

/// What follows `mark` in a path, up to the next slash.
std::string_view component_after(std::string_view path, std::string_view mark) {
  const std::size_t at = path.find(mark);
  if (at == std::string_view::npos) return {};
  std::string_view rest = path.substr(at + mark.size());
  return take_until(rest, '/');
}

/// `source` is what is mounted, as a path in its own file system. Engines mount their files into a container:
/// docker /…/containers/ID/hostname, podman /…/overlay-containers/ID/userdata/hostname, and kubelet
/// /…/pods/UID/containers/NAME/….
void read_mount(std::string_view source, ContainerSigns& signs) {
  if (component_after(source, "/pods/").size() == kUidLength) {
    signs.in_pod = true;
    const std::string_view name = component_after(source.substr(source.find("/pods/")), "/containers/");
    if (!name.empty() && name.size() <= kLongestLabel && is_host_text(name)) signs.container.name = name;
    return;
  }
  for (const std::string_view mark : {"/containers/", "-containers/"}) {
    const std::string_view id = component_after(source, mark);
    if (signs.container.id.empty() && is_id(id)) signs.container.id = id;
  }
}

}  // namespace

ContainerSigns signs_of_container(std::string_view cgroup, std::string_view mounts) {
  ContainerSigns signs;
  while (!cgroup.empty()) {
    std::string_view line = take_until(cgroup, '\n');
    // NUMBER:CONTROLLERS:PATH; the path may contain colons.
    take_until(line, ':');
    take_until(line, ':');
    read_cgroup(line, signs);
  }
  while (!mounts.empty()) {
    std::string_view line = take_until(mounts, '\n');
    constexpr int kSource = 3;
    for (int field = 0; field < kSource; ++field) take_until(line, ' ');
    read_mount(take_until(line, ' '), signs);
  }
  return signs;
}

ContainerSigns container_of(pid_t pid) {
  const std::string directory = directory_of_process(pid);
  const auto cgroup = read_limited(directory + "/cgroup", kMaxCgroups);
  const auto mounts = read_limited(directory + "/mountinfo", kMaxMountInfo);
  return signs_of_container(cgroup.value_or(""), mounts.value_or(""));
}

std::string_view hostname_in(std::string_view content) {
  const std::string_view line = take_until(content, '\n');
  return line.size() <= kLongestPodName && is_host_text(line) ? line : std::string_view();
}

namespace {

bool may_be_same_process(const transport::PeerCredentials& a, const transport::PeerCredentials& b) {
  return a.uid == b.uid && (a.pid == b.pid || a.pid == 0 || b.pid == 0);
}

/// The approximate size of a runtime: its description, once more as JSON, and its port.
std::uint64_t bytes_of(const Runtime& runtime) {
  constexpr std::uint64_t kPort = 8192;
  return kPort + 2 * (sizeof runtime + runtime.command_line.size());
}

}  // namespace

bool is_native_program(pid_t pid, std::string_view command_line) {
  // It is among the first three.
  constexpr std::size_t kFirstThreads = 16;
  if (pid <= 0 || command_line.find(".dll") != std::string_view::npos) return false;
  const std::vector<ProcessStat> threads = thread_stats(pid, kFirstThreads);
  return !threads.empty() && std::ranges::none_of(threads, [](const ProcessStat& thread) {
    return thread.name.starts_with(".NET Synch");
  });
}

Result<std::unique_ptr<Registry::Entry>> Registry::add(Runtime runtime, DiagnosticPort& port, bool named) {
  runtime.user = port.process().uid;
  runtime.kernel_pid = pid_in_own_namespace(port.process().pid);
  // The kernel decides whether the pids differ: a process can't claim another namespace by claiming another
  // pid.
  const auto pid_here = static_cast<std::uint64_t>(port.process().pid);
  runtime.host_pid = runtime.kernel_pid == pid_here ? 0 : pid_here;
  runtime.native = is_native_program(port.process().pid, runtime.command_line);
  runtime.host = host_;
  if (port.process_start() != 0) runtime.since = utc_text(time_at(port.process_start()));
  if (runtime.container.id.empty() && pid_here != 0)
    runtime.container = container_of(port.process().pid).container;
  const auto known = listed_.find(runtime.id);
  if (known != listed_.end() &&
      !may_be_same_process(known->second.entries.front()->port_.process(), port.process())) {
    return fail("list the runtime at", port.path(),
                "another process has its identity " + runtime.id + " already: " +
                    known->second.runtime->name + " at " + known->second.entries.front()->port_.path(),
                "find out which of the two reports a false identity");
  }
  auto entry = std::make_unique<Entry>(*this, runtime.id, port);
  if (known == listed_.end()) {
    Listed& listed = listed_[runtime.id];
    listed.entries.push_back(entry.get());
    listed.first_halt = runtime.halt;
    listed.runtime = std::make_shared<const Runtime>(std::move(runtime));
    count(nullptr, listed.runtime.get());
    tell(listed.runtime->id);
    return entry;
  }
  known->second.entries.push_back(entry.get());
  if (!named) runtime.name = known->second.runtime->name;
  change(known->second, std::move(runtime));
  return entry;
}

void Registry::update(Runtime runtime) {
  const auto place = listed_.find(runtime.id);
  if (place == listed_.end()) return;
  runtime.name = place->second.runtime->name;
  change(place->second, std::move(runtime));
}

void Registry::change(Listed& listed, Runtime runtime) {
  runtime.user = listed.runtime->user;
  runtime.kernel_pid = listed.runtime->kernel_pid;
  runtime.host_pid = listed.runtime->host_pid;
  runtime.native = listed.runtime->native;
  runtime.container = listed.runtime->container;
  runtime.host = host_;
  runtime.since = listed.runtime->since;
  runtime.halt = listed.runtime->halt;
  if (runtime == *listed.runtime) return;
  replace(listed, std::move(runtime));
}

void Registry::count(const Runtime* before, const Runtime* now) {
  if (before != nullptr) bytes_ -= bytes_of(*before);
  if (now != nullptr) bytes_ += bytes_of(*now);
  if (on_size_) on_size_(bytes_);
}

void Registry::replace(Listed& listed, Runtime runtime) {
  const RuntimePtr before =
      std::exchange(listed.runtime, std::make_shared<const Runtime>(std::move(runtime)));
  count(before.get(), listed.runtime.get());
  listed.text.reset();
  tell(listed.runtime->id);
}

RuntimePtr Registry::set_halt(const std::string& id, Halt halt) {
  const auto place = listed_.find(id);
  if (place == listed_.end()) return nullptr;
  Listed& listed = place->second;
  if (halt == Halt::none) halt = listed.first_halt;
  if (halt == listed.runtime->halt) return nullptr;
  Runtime changed = *listed.runtime;
  changed.halt = halt;
  replace(listed, std::move(changed));
  return listed.runtime;
}

void Registry::Entry::add_alias(std::string id) {
  former_id_ = std::move(id);
  registry_.aliases_.insert_or_assign(former_id_, id_);
}

void Registry::remove(Entry& entry) {
  if (!entry.former_id_.empty()) aliases_.erase(entry.former_id_);
  const auto place = listed_.find(entry.id_);
  if (place == listed_.end()) return;
  std::erase(place->second.entries, &entry);
  if (!place->second.entries.empty()) return;
  const std::string id = place->first;
  count(place->second.runtime.get(), nullptr);
  listed_.erase(place);
  tell(id);
}

void Registry::tell(const std::string& id) {
  for (Watch* watch : watches_) watch->note(id);
}

std::vector<RuntimePtr> Registry::all(const Filter& filter) const {
  std::vector<RuntimePtr> runtimes;
  for (const auto& [id, listed] : listed_) {
    if (filter(*listed.runtime)) runtimes.push_back(listed.runtime);
  }
  return runtimes;
}

std::optional<Registry::ListedRuntime> Registry::next_after(std::string_view id, const Filter& filter) {
  for (auto place = listed_.upper_bound(id); place != listed_.end(); ++place) {
    Listed& listed = place->second;
    if (!filter(*listed.runtime)) continue;
    if (listed.text == nullptr) listed.text = std::make_shared<const std::string>(to_json(*listed.runtime));
    return ListedRuntime{listed.runtime, listed.text};
  }
  return std::nullopt;
}

const Registry::Listed* Registry::listed(std::string_view id) const {
  auto place = listed_.find(id);
  const auto former = aliases_.find(id);
  if (place == listed_.end() && former != aliases_.end()) place = listed_.find(former->second);
  return place == listed_.end() ? nullptr : &place->second;
}

RuntimePtr Registry::find(std::string_view id) const {
  const Listed* const found = listed(id);
  return found == nullptr ? nullptr : found->runtime;
}

Result<Runtime> Registry::choose(std::string_view wanted, const Filter& filter) const {
  const std::vector<RuntimePtr> runtimes = all(filter);
  std::vector<const Runtime*> among;
  for (const RuntimePtr& runtime : runtimes) among.push_back(runtime.get());
  ASSIGN_OR_RETURN(const auto chosen, choose_runtime(wanted, among));
  return *runtimes[chosen];
}

std::set<pid_t> Registry::processes() const {
  std::set<pid_t> pids;
  for (const auto& [id, listed] : listed_) {
    for (const Entry* entry : listed.entries) pids.insert(entry->port_.process().pid);
  }
  return pids;
}

std::vector<Registry::Process> Registry::process_of_each() const {
  std::vector<Process> all;
  for (const auto& [id, listed] : listed_) {
    const DiagnosticPort& port = listed.entries.front()->port_;
    if (port.process().pid != 0) all.push_back({id, port.process().pid, port.process_start()});
  }
  return all;
}

DiagnosticPort* Registry::port(std::string_view id) const {
  const Listed* const found = listed(id);
  return found == nullptr ? nullptr : &found->entries.front()->port_;
}

std::vector<DiagnosticPort*> Registry::ports(std::string_view id) const {
  std::vector<DiagnosticPort*> ports;
  const auto place = listed_.find(id);
  if (place == listed_.end()) return ports;
  for (const Entry* entry : place->second.entries) ports.push_back(&entry->port_);
  return ports;
}

std::unique_ptr<Registry::Watch> Registry::watch(Filter filter) {
  return std::make_unique<Watch>(*this, std::move(filter));
}

Registry::Watch::Watch(Registry& registry, Filter filter)
    : registry_(registry), filter_(std::move(filter)), arrived_(registry.loop_) {
  for (const auto& [id, listed] : registry.listed_) first_.insert(id);
  registry.watches_.push_back(this);
}

Registry::Watch::~Watch() {
  std::erase(registry_.watches_, this);
}

void Registry::Watch::note(const std::string& id) {
  if (first_.contains(id)) return;
  // Don't keep a runtime that has come and gone between two reads, so that the size stays bounded.
  if (registry_.find(id) == nullptr && !told_.contains(id)) {
    changed_.erase(id);
    return;
  }
  changed_.insert(id);
  arrived_.set();
}

/// The event that the reader has not been told yet, if any.
std::optional<RuntimeEvent> Registry::Watch::event_of(const std::string& id) {
  RuntimePtr now = registry_.find(id);
  if (now != nullptr && filter_ && !filter_(*now)) now = nullptr;
  const auto known = told_.find(id);
  if (now == nullptr) {
    if (known == told_.end()) return std::nullopt;
    RuntimeEvent gone{RuntimeEvent::Kind::removed, *known->second};
    told_.erase(known);
    return gone;
  }
  if (known != told_.end() && known->second == now) return std::nullopt;
  const auto kind = known == told_.end() ? RuntimeEvent::Kind::added : RuntimeEvent::Kind::changed;
  told_.insert_or_assign(id, now);
  return RuntimeEvent{kind, *now};
}

std::optional<RuntimeEvent> Registry::Watch::pending_event() {
  while (!first_.empty()) {
    const auto id = first_.extract(first_.begin());
    if (auto event = event_of(id.value())) return event;
  }
  if (!std::exchange(listed_, true)) return RuntimeEvent{RuntimeEvent::Kind::listed, {}};
  while (!changed_.empty()) {
    const auto id = changed_.extract(changed_.begin());
    if (auto event = event_of(id.value())) return event;
  }
  return std::nullopt;
}

transport::Task<std::optional<RuntimeEvent>> Registry::Watch::next() {
  while (!closed_) {
    std::optional<RuntimeEvent> event = pending_event();
    if (event) co_return event;
    co_await arrived_.wait();
  }
  co_return std::nullopt;
}

std::size_t Registry::Watch::kept_bytes() const {
  // An element of a set or a map: its node and an id of 36 characters.
  constexpr std::size_t kPlace = 128;
  return kPlace * (first_.size() + changed_.size() + told_.size());
}

void Registry::Watch::close() {
  closed_ = true;
  arrived_.set();
}

}  // namespace farport::router
