#include "router/agent_link.hpp"

#include <algorithm>

#include "router/http_status.hpp"
#include "router/runtime_json.hpp"

namespace farport::router {
namespace {

using transport::Task;

std::vector<std::string> paths_for(const Runtime& runtime, const std::vector<NamedSocket>& sockets) {
  std::vector<std::string> paths;
  for (const NamedSocket& socket : sockets) {
    if (socket.name.empty() || names_runtime(socket.name, runtime)) paths.push_back(socket.path);
  }
  return paths;
}

}  // namespace

AgentLink::AgentLink(MirrorServices& services, MirrorChoice choice, AgentDialler::Target target,
                     CredentialWatch& credentials)
    : services_(services),
      choice_(std::move(choice)),
      dialler_(services.loop, services.log, std::move(target), credentials, services.session),
      tasks_(services.loop) {}

AgentLink::~AgentLink() = default;

Task<void> AgentLink::run() {
  AgentDialler::Follow in_session = [this](AgentSession& session) { return follow(session); };
  AgentDialler::OnEnd on_end = [this](const Error& why) { lost(why); };
  co_await dialler_.run(std::move(in_session), std::move(on_end));
}

void AgentLink::lost(const Error& why) {
  if (last_error_ != why.message()) services_.log->warn("{}; dialling again", why.message());
  const bool was_following = last_error_.empty();
  settle(why.message());
  if (!was_following) return;
  ++breaks_;
  grace_.emplace(services_.loop, services_.session.grace, [this] {
    if (!connected()) mirrored_.clear();
    services_.on_change();
  });
}

Task<void> AgentLink::leave() {
  tasks_.clear();
  mirrored_.clear();
  co_await dialler_.leave();
}

Task<void> AgentLink::follow(AgentSession& session) {
  listed_.clear();
  const auto answer = session.request("GET", "/v1/runtimes?watch=true", false);
  if (answer == nullptr) co_return;
  const transport::IoStatus head = co_await answer->head_received();
  if (head != transport::IoStatus::ok) co_return;
  if (answer->head().status != http_status::kOk) {
    const auto refused = co_await read_answer(*answer);
    if (!refused) session.abort(Error{"use", address(), refused.error().why, {}, 0});
    co_return;
  }
  session.learn_instance(answer->head());
  AnswerLines lines(*answer);
  for (;;) {
    const std::optional<std::string> line = co_await lines.next();
    if (!line) break;
    Result<RuntimeEvent> event = event_from_json(*line);
    if (!event) {
      session.abort(event.error());
      co_return;
    }
    co_await apply(std::move(*event));
  }
  session.abort(Error{"follow the runtimes of", address(), "the agent ended its list", {}, 0});
}

Task<void> AgentLink::apply(RuntimeEvent event) {
  const std::string id = event.runtime.id;
  switch (event.kind) {
    case RuntimeEvent::Kind::added:
    case RuntimeEvent::Kind::changed:
      listed_.insert(id);
      if (const auto known = mirrored_.find(id); known != mirrored_.end()) {
        known->second->update(std::move(event.runtime));
      } else if (selected(event.runtime)) {
        co_await mirror(std::move(event.runtime));
      }
      break;
    case RuntimeEvent::Kind::removed:
      remove(id);
      break;
    case RuntimeEvent::Kind::listed:
      // What went while the session was broken.
      remove_unlisted();
      services_.log->info("following {}: {} runtimes", address(), mirrored_.size());
      if (!last_error_.empty()) services_.log->warn("connected with {} again", address());
      if (mirrored_.empty() && !listed_.empty()) {
        services_.log->warn("--select fits none of the {} runtimes of {}", listed_.size(), address());
      }
      settle({});
      break;
  }
  services_.on_change();
}

Task<void> AgentLink::mirror(Runtime runtime) {
  const std::string id = runtime.id;
  const std::string what = runtime.name + " (pid " + std::to_string(runtime.pid) + " on " + address() + ")";
  // Named, since GCC 12 destroys a lambda's captures twice where it is made inside a co_await expression.
  std::function<void()> on_lost = [this, id] { tasks_.spawn(mirror_again(id)); };
  MirroredRuntime::Places places;
  places.sockets = paths_for(runtime, choice_.sockets);
  places.tools = paths_for(runtime, choice_.tools);
  auto mirrored =
      co_await MirroredRuntime::start(services_, runtime, std::move(places), dialler_, std::move(on_lost));
  if (!mirrored) {
    services_.log->error("{} is not mirrored: {}", what, mirrored.error().message());
    co_return;
  }
  // It may have ended meanwhile.
  if (connected() && !listed_.contains(id)) co_return;
  services_.log->info("{} is here as process {}: {}", what, (*mirrored)->local_pid(), (*mirrored)->socket());
  mirrored_[id] = std::move(*mirrored);
}

Task<void> AgentLink::mirror_again(std::string id) {
  const auto known = mirrored_.find(id);
  if (known == mirrored_.end()) co_return;
  Runtime runtime = known->second->runtime();
  services_.log->warn("somebody ended process {}, which stood for {}: starting another",
                      known->second->local_pid(), runtime.name);
  tasks_.spawn(retire(std::move(known->second)));
  mirrored_.erase(known);
  co_await mirror(std::move(runtime));
  services_.on_change();
}

void AgentLink::remove(const std::string& id) {
  listed_.erase(id);
  const auto known = mirrored_.find(id);
  if (known == mirrored_.end()) return;
  services_.log->info("{} (pid {} on {}) has ended", known->second->runtime().name,
                      known->second->runtime().pid, address());
  tasks_.spawn(retire(std::move(known->second)));
  mirrored_.erase(known);
}

Task<void> AgentLink::retire(std::unique_ptr<MirroredRuntime> mirrored) {
  mirrored->retire();
  co_await mirrored->idle();
}

void AgentLink::remove_unlisted() {
  std::vector<std::string> gone;
  for (const auto& [id, mirrored] : mirrored_) {
    if (!listed_.contains(id)) gone.push_back(id);
  }
  for (const std::string& id : gone) remove(id);
}

void AgentLink::settle(std::string error) {
  settled_ = true;
  last_error_ = std::move(error);
  services_.on_change();
}

bool AgentLink::selected(const Runtime& runtime) const {
  const auto names = [&](const std::string& wanted) { return names_runtime(wanted, runtime); };
  return choice_.select.empty() || std::any_of(choice_.select.begin(), choice_.select.end(), names);
}

MirroredRuntime* AgentLink::find(const std::string& id) const {
  const auto known = mirrored_.find(id);
  return known == mirrored_.end() ? nullptr : known->second.get();
}

std::vector<const MirroredRuntime*> AgentLink::runtimes() const {
  std::vector<const MirroredRuntime*> all;
  for (const auto& [id, runtime] : mirrored_) all.push_back(runtime.get());
  return all;
}

}  // namespace farport::router
