#include "router/mirror/agent_link.hpp"

#include <algorithm>
#include <cerrno>

#include "base/text.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/runtime.hpp"
#include "transport/share.hpp"

namespace farport::router {
namespace {

using transport::Task;

/// Most placeholders that a mirror starts for one agent and for all. Each costs a process and two sockets.
constexpr std::size_t kRuntimesOfAgent = 1024;
constexpr std::size_t kRuntimesInAll = 4096;
/// Time limit for the start of an agent's list.
constexpr transport::Milliseconds kListLimit{20'000};

std::vector<std::string> paths_for(const Runtime& runtime, const std::vector<NamedPath>& sockets) {
  std::vector<std::string> paths;
  for (const NamedPath& socket : sockets) {
    if (socket.name.empty() || names_runtime(socket.name, runtime)) paths.push_back(socket.path);
  }
  return paths;
}

}  // namespace

AgentLink::AgentLink(MirrorServices& services, LinkEvents events, MirrorChoice choice,
                     std::unique_ptr<AgentRoute> route)
    : services_(services),
      events_(std::move(events)),
      choice_(std::move(choice)),
      sessions_(services.loop, services.log, std::move(route), services.session),
      tasks_(services.loop) {}

AgentLink::~AgentLink() = default;

Task<void> AgentLink::run() {
  SessionManager::OnSession in_session = [this](AgentSession& session) { return follow(session); };
  SessionManager::OnEnd on_end = [this](const Error& why) { lost(why); };
  co_await sessions_.run(std::move(in_session), std::move(on_end));
}

void AgentLink::lost(const Error& why) {
  if (last_error_ != why.message()) services_.log->warn("{}; dialling again", why.message());
  if (listed()) ++breaks_;
  if (!grace_ && !mirrored_.empty()) {
    grace_.emplace(services_.loop, services_.session.grace, [this] {
      grace_over_ = true;
      if (!connected()) give_up_mirrored();
    });
  } else if (grace_over_) {
    give_up_mirrored();
  }
  settle(why.message());
}

void AgentLink::give_up_mirrored() {
  for (const auto& [id, mirrored] : mirrored_) mirrored->log_lost_session();
  forget_mirrored();
}

void AgentLink::forget_mirrored() {
  starting_.clear();
  mirrored_.clear();
  services_.on_change();
}

Task<void> AgentLink::leave() {
  tasks_.clear();
  forget_mirrored();
  co_await sessions_.leave();
}

Task<void> AgentLink::follow(AgentSession& session) {
  listed_.clear();
  unselected_ = 0;
  transport::Deadline limit(services_.loop, kListLimit, [&session] {
    session.abort(
        Error{"list the runtimes of", session.address(), "it does not answer", {}, Cause(ETIMEDOUT)});
  });
  const auto asked = co_await session.ask("GET", "/v1/runtimes?watch=true");
  limit.cancel();
  if (!asked) co_return;
  transport::Http2Stream& answer = **asked;
  if (answer.head().status != http_status::kOk) {
    const auto refused = co_await read_answer(answer);
    if (!refused) session.abort(Error{"use", address(), refused.error().why});
    co_return;
  }
  session.learn_instance(answer.head());
  if (!events_.may_follow(*this, session)) {
    // A link that has never had an agent ends by itself when its session ends.
    if (!instance_.empty()) session.leave();
    co_return;
  }
  sessions_.pace().learn(answer.head(), session.instance() != instance_);
  instance_ = session.instance();
  agent_ = session.agent();
  co_await read_list(session, answer);
}

Task<void> AgentLink::read_list(AgentSession& session, transport::Http2Stream& answer) {
  AnswerLines lines(answer);
  transport::TurnBudget budget(services_.loop);
  for (;;) {
    const std::optional<std::string> line = co_await lines.next();
    if (!line) break;
    Result<RuntimeEvent> event = event_from_json(*line);
    // The id becomes part of file paths.
    if (event && event->kind != RuntimeEvent::Kind::listed && !Guid::parse(event->runtime.id)) {
      event = fail("read", "an event of the agent", "the runtime's id is no GUID");
    }
    if (!event) {
      session.abort(event.error());
      co_return;
    }
    co_await apply(std::move(*event));
    // Lines may come faster than they are processed, without end.
    co_await budget.yield_if_used_up();
  }
  const Error ended{"follow the runtimes of", address(), "the agent ended its list"};
  session.abort(lines.broken() ? *lines.broken() : ended);
}

Task<void> AgentLink::apply(RuntimeEvent event) {
  switch (event.kind) {
    case RuntimeEvent::Kind::added:
    case RuntimeEvent::Kind::changed:
      co_await add(std::move(event.runtime));
      break;
    case RuntimeEvent::Kind::removed:
      remove(event.runtime.id);
      break;
    case RuntimeEvent::Kind::listed:
      // Removes runtimes that ended while the session was broken.
      remove_unlisted();
      services_.log->info("following {}: {} runtimes", address(), mirrored_.size());
      if (!last_error_.empty()) services_.log->warn("connected with {} again", address());
      if (mirrored_.empty() && unselected_ > 0) {
        services_.log->warn("--select fits none of the {} runtimes of {}", unselected_, address());
      }
      settle({});
      break;
  }
  services_.on_change();
}

Task<void> AgentLink::add(Runtime runtime) {
  runtime.address = address();
  const std::string id = runtime.id;
  const auto known = mirrored_.find(id);
  const auto starting = starting_.find(id);
  if (known != mirrored_.end()) {
    tell_halt(runtime, known->second->runtime().halt);
    known->second->update(std::move(runtime));
  } else if (starting != starting_.end()) {
    starting->second = std::move(runtime);
  } else if (!selected(runtime)) {
    ++unselected_;
    co_return;
  } else if (!has_room()) {
    co_return;
  } else {
    listed_.insert(id);
    co_await mirror(std::move(runtime));
    co_return;
  }
  listed_.insert(id);
}

/// Names the runtime in the log.
std::string AgentLink::described(const Runtime& runtime) const {
  return runtime.name + " (pid " + std::to_string(runtime.pid) + " on " + address() + ")";
}

/// Logs that a runtime stopped or resumed answering. Tools just wait for it, as they would on its own host.
void AgentLink::tell_halt(const Runtime& now, Halt before) {
  if (now.halt == before) return;
  const std::string what = described(now);
  if (now.halt == Halt::none) return services_.log->warn("{} goes on", what);
  services_.log->warn("{} is {}: tools wait until it answers", what, to_string(now.halt));
}

bool AgentLink::has_room() {
  const bool of_agent = mirrored_.size() + starting_.size() < kRuntimesOfAgent;
  if (of_agent && services_.runtimes < kRuntimesInAll) return true;
  if (!full_) {
    services_.log->error(
        "{} has more runtimes than can be mirrored (at most {} of one agent, {} in all): some are left out; "
        "choose with --select",
        address(), kRuntimesOfAgent, kRuntimesInAll);
  }
  full_ = true;
  return false;
}

Task<void> AgentLink::mirror(Runtime runtime) {
  const std::string id = runtime.id;
  const std::string what = described(runtime);
  // While the placeholder is being started, the runtime's updates go to its entry there; a missing entry
  // means that it has ended.
  struct Starting {
    std::map<std::string, Runtime>& all;
    const std::string& id;
    ~Starting() { all.erase(id); }
  } const guard{starting_, id};
  starting_[id] = runtime;
  // Named, since GCC 12 destroys a lambda's captures twice if it is made inside a co_await expression.
  std::function<void()> on_lost = [this, id] { mirror_again(id); };
  MirroredRuntime::Places places;
  places.sockets = paths_for(runtime, choice_.sockets);
  places.tools = paths_for(runtime, choice_.tools);
  auto mirrored =
      co_await MirroredRuntime::start(services_, runtime, std::move(places), sessions_, std::move(on_lost));
  if (!mirrored) {
    services_.log->error("{} is not mirrored: {}", what, mirrored.error().message());
    co_return;
  }
  const auto now = starting_.find(id);
  if (now == starting_.end()) co_return;
  (*mirrored)->update(now->second);
  tell_halt(now->second, Halt::none);
  services_.log->info("{} is mirrored as process {}: {}", what, (*mirrored)->local_pid(),
                      (*mirrored)->socket());
  mirrored_[id] = std::move(*mirrored);
  services_.on_change();
}

void AgentLink::mirror_again(const std::string& id) {
  const auto known = mirrored_.find(id);
  if (known == mirrored_.end()) return;
  Runtime runtime = known->second->runtime();
  services_.log->warn("the placeholder process {} of {} has ended: starting another",
                      known->second->local_pid(), runtime.name);
  retire(std::move(known->second));
  mirrored_.erase(known);
  tasks_.spawn(mirror(std::move(runtime)));
}

void AgentLink::remove(const std::string& id) {
  listed_.erase(id);
  starting_.erase(id);
  const auto known = mirrored_.find(id);
  if (known == mirrored_.end()) return;
  services_.log->info("{} (pid {} on {}) has ended", known->second->runtime().name,
                      known->second->runtime().pid, address());
  retire(std::move(known->second));
  mirrored_.erase(known);
}

void AgentLink::retire(std::unique_ptr<MirroredRuntime> mirrored) {
  tasks_.spawn([](std::unique_ptr<MirroredRuntime> retired) -> Task<void> {
    retired->retire();
    co_await retired->idle();
  }(std::move(mirrored)));
}

void AgentLink::remove_unlisted() {
  std::vector<std::string> gone;
  const auto unlisted = [&](const auto& entry) { return !listed_.contains(entry.first); };
  for (const auto& entry : mirrored_) {
    if (unlisted(entry)) gone.push_back(entry.first);
  }
  std::erase_if(starting_, unlisted);
  for (const std::string& id : gone) remove(id);
}

void AgentLink::settle(std::string error) {
  settled_ = true;
  last_error_ = std::move(error);
  if (last_error_.empty()) {
    grace_.reset();
    grace_over_ = false;
  }
  services_.on_change();
  events_.on_change(*this);
}

bool AgentLink::selected(const Runtime& runtime) const {
  return !choice_.none && is_selected(choice_.select, runtime);
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
