#include "router/agent_link.hpp"

#include <algorithm>
#include <random>

#include "router/http_status.hpp"
#include "router/runtime_json.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

constexpr Milliseconds kFirstPause{200};
constexpr Milliseconds kLongestPause{5'000};
/// How long mirrored runtimes outlive a broken session.
constexpr Milliseconds kGrace{30'000};
/// A session that has lasted this long was a good one: the next pause is short again.
constexpr std::uint64_t kGoodSessionMs = 10'000;

/// Spreads out mirrors that lost the same agent at the same moment.
Milliseconds jittered(Milliseconds pause) {
  std::random_device device;
  std::uniform_real_distribution<double> factor(0.5, 1.0);
  return Milliseconds(static_cast<Milliseconds::rep>(static_cast<double>(pause.count()) * factor(device)));
}

std::vector<std::string> paths_for(const Runtime& runtime, const std::vector<NamedSocket>& sockets) {
  std::vector<std::string> paths;
  for (const NamedSocket& socket : sockets) {
    if (socket.name.empty() || names_runtime(socket.name, runtime)) paths.push_back(socket.path);
  }
  return paths;
}

}  // namespace

AgentLink::AgentLink(MirrorServices& services, MirrorChoice choice, transport::Address address,
                     std::string server_name, CredentialWatch& credentials)
    : services_(services),
      choice_(std::move(choice)),
      address_(address),
      address_text_(address.text()),
      server_name_(std::move(server_name)),
      credentials_(credentials),
      tasks_(services.loop) {}

AgentLink::~AgentLink() = default;

Task<void> AgentLink::run() {
  Milliseconds pause = kFirstPause;
  std::optional<transport::Deadline> grace;
  for (;;) {
    const std::uint64_t began = services_.loop.now_ms();
    const Error why = co_await hold_session();
    const bool was_good = services_.loop.now_ms() - began > kGoodSessionMs;
    if (last_error_ != why.message()) services_.log->warn("{}; dialling again", why.message());
    const bool was_following = last_error_.empty();
    settle(why.message());
    if (was_following) {
      grace.emplace(services_.loop, kGrace, [this] {
        if (!connected()) mirrored_.clear();
        services_.on_change();
      });
    }
    pause = was_good ? kFirstPause : std::min(pause * 2, kLongestPause);
    co_await transport::sleep(services_.loop, jittered(pause));
  }
}

Task<Error> AgentLink::hold_session() {
  auto session = co_await AgentSession::dial(services_.loop, address_, server_name_, credentials_.context());
  if (!session) co_return session.error();
  struct Current {
    AgentLink& link;
    ~Current() { link.session_ = nullptr; }
  } const current{*this};
  session_ = session->get();
  AgentSession& held = **session;
  std::function<void(const Error&)> end = [&held](const Error& why) { held.abort(why); };
  const VerifiedPeer peer(credentials_.peers(), held.ssl(), std::move(end));
  transport::TaskSet tasks(services_.loop);
  tasks.spawn(follow(**session));
  const Error why = co_await (*session)->run();
  session_ = nullptr;
  co_await tasks.idle();
  co_return why;
}

Task<void> AgentLink::follow(AgentSession& session) {
  listed_.clear();
  const auto answer = session.request("GET", "/v1/runtimes?watch=true", false);
  if (answer == nullptr) co_return;
  const transport::IoStatus head = co_await answer->head_received();
  if (head != transport::IoStatus::ok) co_return;
  if (answer->head().status != http_status::kOk) {
    const auto refused = co_await read_answer(*answer);
    if (!refused) session.abort(Error{"use", address_text_, refused.error().why, {}, 0});
    co_return;
  }
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
  session.abort(Error{"follow the runtimes of", address_text_, "the agent ended its list", {}, 0});
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
      services_.log->info("following {}: {} runtimes", address_text_, mirrored_.size());
      settle({});
      break;
  }
  services_.on_change();
}

Task<void> AgentLink::mirror(Runtime runtime) {
  const std::string id = runtime.id;
  const std::string what =
      runtime.name + " (pid " + std::to_string(runtime.pid) + " on " + address_text_ + ")";
  // Named, since GCC 12 destroys a lambda's captures twice where it is made inside a co_await expression.
  MirroredRuntime::SessionSource session = [this] { return session_; };
  std::function<void()> on_lost = [this, id] { tasks_.spawn(mirror_again(id)); };
  MirroredRuntime::Places places;
  places.sockets = paths_for(runtime, choice_.sockets);
  places.tools = paths_for(runtime, choice_.tools);
  auto mirrored = co_await MirroredRuntime::start(services_, runtime, std::move(places), std::move(session),
                                                  std::move(on_lost));
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
                      known->second->runtime().pid, address_text_);
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

std::vector<const MirroredRuntime*> AgentLink::runtimes() const {
  std::vector<const MirroredRuntime*> all;
  for (const auto& [id, runtime] : mirrored_) all.push_back(runtime.get());
  return all;
}

}  // namespace farport::router
