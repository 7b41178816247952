#include "router/registry.hpp"

#include <algorithm>

#include "base/process_stat.hpp"

namespace farport::router {

std::string_view to_string(RuntimeEvent::Kind kind) {
  switch (kind) {
    case RuntimeEvent::Kind::added:
      return "added";
    case RuntimeEvent::Kind::changed:
      return "changed";
    case RuntimeEvent::Kind::removed:
      return "removed";
    case RuntimeEvent::Kind::listed:
      break;
  }
  return "listed";
}

namespace {

bool same_process(const transport::PeerCredentials& a, const transport::PeerCredentials& b) {
  return a.uid == b.uid && (a.pid == b.pid || a.pid == 0 || b.pid == 0);
}

}  // namespace

Result<std::unique_ptr<Registry::Entry>> Registry::add(Runtime runtime, RuntimePort& port, bool named) {
  runtime.user = port.process().uid;
  runtime.kernel_pid = pid_in_own_namespace(port.process().pid);
  runtime.host = host_;
  const auto known = listed_.find(runtime.id);
  if (known != listed_.end() &&
      !same_process(known->second.entries.front()->port_.process(), port.process())) {
    return fail("list the runtime at", port.path(),
                "another process has its identity " + runtime.id + " already: " +
                    known->second.runtime->name + " at " + known->second.entries.front()->port_.path(),
                "find out which of the two is not what it says");
  }
  auto entry = std::make_unique<Entry>(*this, runtime.id, port);
  if (known == listed_.end()) {
    Listed& listed = listed_[runtime.id];
    listed.entries.push_back(entry.get());
    listed.runtime = std::make_shared<const Runtime>(std::move(runtime));
    tell(RuntimeEvent::Kind::added, *listed.runtime);
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
  runtime.host = host_;
  runtime.since = listed.runtime->since;
  if (runtime == *listed.runtime) return;
  listed.runtime = std::make_shared<const Runtime>(std::move(runtime));
  tell(RuntimeEvent::Kind::changed, *listed.runtime);
}

void Registry::remove(Entry& entry) {
  const auto place = listed_.find(entry.id_);
  if (place == listed_.end()) return;
  std::erase(place->second.entries, &entry);
  if (!place->second.entries.empty()) return;
  const RuntimePtr runtime = place->second.runtime;
  listed_.erase(place);
  tell(RuntimeEvent::Kind::removed, *runtime);
}

void Registry::tell(RuntimeEvent::Kind kind, const Runtime& runtime) {
  for (Watch* watch : watches_) {
    watch->events_.push_back({kind, runtime});
    watch->arrived_.set();
  }
}

std::vector<Runtime> Registry::all(const Filter& filter) const {
  std::vector<Runtime> runtimes;
  for (const auto& [id, listed] : listed_) {
    if (filter(*listed.runtime)) runtimes.push_back(*listed.runtime);
  }
  return runtimes;
}

RuntimePtr Registry::find(std::string_view id) const {
  const auto place = listed_.find(id);
  return place == listed_.end() ? nullptr : place->second.runtime;
}

Result<Runtime> Registry::choose(std::string_view wanted, const Filter& filter) const {
  const std::vector<Runtime> runtimes = all(filter);
  std::vector<const Runtime*> among;
  for (const Runtime& runtime : runtimes) among.push_back(&runtime);
  const auto chosen = choose_runtime(wanted, among);
  if (!chosen) return tl::unexpected(chosen.error());
  return runtimes[*chosen];
}

RuntimePort* Registry::port(std::string_view id) const {
  const auto place = listed_.find(id);
  return place == listed_.end() ? nullptr : &place->second.entries.front()->port_;
}

std::vector<RuntimePort*> Registry::ports(std::string_view id) const {
  std::vector<RuntimePort*> ports;
  const auto place = listed_.find(id);
  if (place == listed_.end()) return ports;
  for (const Entry* entry : place->second.entries) ports.push_back(&entry->port_);
  return ports;
}

std::unique_ptr<Registry::Watch> Registry::watch() {
  return std::make_unique<Watch>(*this);
}

Registry::Watch::Watch(Registry& registry) : registry_(registry), arrived_(registry.loop_) {
  for (const auto& [id, listed] : registry.listed_) {
    events_.push_back({RuntimeEvent::Kind::added, *listed.runtime});
  }
  events_.push_back({RuntimeEvent::Kind::listed, {}});
  registry.watches_.push_back(this);
}

Registry::Watch::~Watch() {
  std::erase(registry_.watches_, this);
}

transport::Task<std::optional<RuntimeEvent>> Registry::Watch::next() {
  while (events_.empty() && !closed_) co_await arrived_.wait();
  if (closed_) co_return std::nullopt;
  RuntimeEvent event = std::move(events_.front());
  events_.pop_front();
  co_return event;
}

void Registry::Watch::close() {
  closed_ = true;
  arrived_.set();
}

}  // namespace farport::router
