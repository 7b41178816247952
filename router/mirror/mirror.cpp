#include "router/mirror/mirror.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "base/resources.hpp"
#include "router/mirror/accepted_agents.hpp"
#include "router/mirror/named_agents.hpp"
#include "router/mirror/remote_agents.hpp"
#include "router/wire/runtime.hpp"
#include "transport/rest.hpp"

namespace farport::router {

using transport::Task;

namespace {

constexpr std::string_view kProgramsPrefix = "farport-programs-";

}  // namespace

Mirror::Mirror(transport::Loop& loop, Log log, MirrorSettings settings)
    : loop_(loop), log_(std::move(log)), settings_(std::move(settings)), changed_(loop), tasks_(loop) {}

Task<Result<void>> Mirror::start() {
  if (!has_room_for_sockets(settings_.socket_directory)) {
    co_return fail("make sockets in", settings_.socket_directory,
                   "its path is too long: a socket's whole path has 107 bytes at most",
                   "choose a shorter one with --socket-dir");
  }
  CO_ASSIGN_OR_RETURN(auto files, SocketManifest::claim(settings_.socket_directory, log_));
  files_ = std::move(files);
  // Failure is not fatal: placeholders then have no name of their own for tools to show.
  auto programs = OwnedDirectory::make(settings_.socket_directory, kProgramsPrefix);
  if (programs) programs_ = std::move(*programs);
  if (!programs) log_->info("{}", programs.error().message());
  CO_ASSIGN_OR_RETURN(auto image,
                      PlaceholderImage::make(programs_ == nullptr ? std::string() : programs_->path()));
  image_ = std::make_unique<PlaceholderImage>(std::move(image));
  services_ = std::make_unique<MirrorServices>(
      MirrorServices{loop_, log_, *files_, buffers_, *image_, ClientOptions(loop_, settings_.session),
                     [this] {
                       ++changes_;
                       changed_.set();
                     },
                     [this](const RemoteAgents& than, const std::string& agent) {
                       return is_followed_elsewhere(than, agent);
                     }});
  for (const MirroredAgent& agent : settings_.agents) {
    CO_ASSIGN_OR_RETURN(auto agents, agents_behind(agent));
    agents_.push_back(std::move(agents));
  }
  for (const auto& [first, watch] : credentials_) tasks_.spawn(watch->run());
  for (const auto& agents : agents_) tasks_.spawn(agents->run());
  tasks_.spawn(give_back_memory());
  co_return Result<void>{};
}

/// Gives back what finding the runtimes took, and later what work took, once nothing has changed for a while.
Task<void> Mirror::give_back_memory() {
  const auto changes = [this] { return changes_; };
  const auto release = [this] {
    buffers_.free_unused();
    release_unused_memory();
  };
  return transport::at_rest(loop_, changes, release);
}

Result<std::unique_ptr<RemoteAgents>> Mirror::agents_behind(const MirroredAgent& agent) {
  const MirrorChoice choice{agent.select, settings_.sockets, settings_.tools, agent.remote,
                            settings_.agents_only};
  if (agent.reach != nullptr) return std::make_unique<ReachedAgents>(*services_, choice, agent.reach);
  CredentialWatch& credentials = watch_of(agent.credentials);
  if (!agent.accept.empty()) {
    ASSIGN_OR_RETURN(auto accepted, AcceptedAgents::listen(*services_, choice, agent.accept,
                                                           agent.address.server_name, credentials));
    return accepted;
  }
  if (agent.proxy)
    return std::make_unique<ProxiedAgent>(*services_, choice, *agent.proxy, agent.address, credentials);
  return std::make_unique<NamedAgents>(*services_, choice, agent.address, credentials);
}

CredentialWatch& Mirror::watch_of(const auth::TlsCredentialsPtr& credentials) {
  auto& watch = credentials_[credentials.get()];
  if (watch == nullptr) watch = std::make_unique<CredentialWatch>(loop_, log_, credentials);
  return *watch;
}

void Mirror::reload_certificates() {
  for (const auto& [first, watch] : credentials_) watch->reload();
}

Task<Result<void>> Mirror::settled() {
  const auto all_settled = [this] {
    return std::all_of(agents_.begin(), agents_.end(), [](const auto& agents) { return agents->settled(); });
  };
  while (!all_settled() && !stopped_settling_) co_await changed_.wait();
  std::string why = agents_.empty() ? "none is named" : "none has answered in time";
  for (const auto& agents : agents_) {
    const std::string error = agents->last_error();
    if (error.empty() && agents->settled()) co_return Result<void>{};
    if (agents == agents_.front() && !error.empty()) why = error;
  }
  co_return fail("reach", "any agent", why);
}

namespace {

/// "3 above 5 ms, 1 above 10 ms" for the turns of the event loop; "none above 5 ms" is what it should be.
std::string long_turns(const transport::DurationHistogram& turns) {
  constexpr transport::Milliseconds kLong{5};
  std::string text;
  for (std::size_t at = 0; at < turns.bounds().size(); ++at) {
    const auto from = turns.counts().begin() + static_cast<std::ptrdiff_t>(at) + 1;
    const std::uint64_t above = std::accumulate(from, turns.counts().end(), std::uint64_t{0});
    if (turns.bounds()[at] < kLong || above == 0) continue;
    text += fmt::format("{}{} above {} ms", text.empty() ? "" : ", ", above, turns.bounds()[at].count());
  }
  return text.empty() ? fmt::format("none above {} ms", kLong.count()) : text;
}

}  // namespace

Task<void> Mirror::leave() {
  log_->debug("turns of the event loop: {}", long_turns(loop_.stalls()));
  tasks_.clear();
  for (const auto& agents : agents_) tasks_.spawn(agents->leave());
  co_await tasks_.idle();
}

void Mirror::stop_settling() {
  stopped_settling_ = true;
  changed_.set();
}

bool Mirror::is_followed_elsewhere(const RemoteAgents& than, const std::string& agent) const {
  return std::any_of(agents_.begin(), agents_.end(), [&](const auto& other) {
    return other.get() != &than && other->choice().select == than.choice().select && other->follows(agent);
  });
}

bool Mirror::leads_to(std::string_view remote, const AgentLink& link) const {
  if (remote.empty() || link.remote() == remote) return true;
  return std::any_of(agents_.begin(), agents_.end(), [&](const auto& agents) {
    return agents->choice().remote == remote && agents->followed_elsewhere(link.agent());
  });
}

std::vector<MirrorRow> Mirror::rows(std::string_view remote) const {
  std::vector<MirrorRow> rows;
  for (const auto& agents : agents_) {
    for (const AgentLink* link : agents->links()) {
      if (!leads_to(remote, *link)) continue;
      for (const MirroredRuntime* mirrored : link->runtimes()) {
        rows.push_back({mirrored->runtime(), link->address(), link->remote(), mirrored->local_pid(),
                        mirrored->socket(), mirrored->active(), mirrored->dump(), link->connected(),
                        link->breaks()});
      }
    }
  }
  return rows;
}

bool Mirror::lists_nothing() const {
  return mirrored() == 0 && !agents_.empty() &&
         std::all_of(agents_.begin(), agents_.end(),
                     [](const auto& agent) { return agent->settled() && agent->last_error().empty(); });
}

std::vector<LinkRow> Mirror::links() const {
  std::vector<LinkRow> rows;
  for (const auto& agents : agents_) {
    const auto links = agents->links();
    for (const AgentLink* link : links)
      rows.push_back({link->address(), link->connected(), link->last_error()});
    if (links.empty() && !agents->is_alias()) rows.push_back({agents->name(), false, agents->last_error()});
  }
  return rows;
}

std::vector<ConnectedAgent> Mirror::connected() const {
  std::vector<ConnectedAgent> all;
  for (const auto& agents : agents_) {
    const bool selected = !agents->choice().select.empty();
    for (const AgentLink* link : agents->links())
      if (link->connected()) all.push_back({link->address(), link->remote(), selected, link->session()});
  }
  return all;
}

transport::Task<void> Mirror::ask(std::string path, std::vector<AgentAnswer>& answers) {
  const auto add = [](std::string what, ConnectedAgent agent,
                      std::vector<AgentAnswer>& to) -> transport::Task<void> {
    const std::shared_ptr<AgentSession> session = agent.session;
    auto body = co_await ask_in(*session, "GET", std::move(what));
    to.push_back({std::move(agent), std::move(body)});
  };
  transport::TaskSet asking(loop_);
  for (ConnectedAgent& agent : connected()) asking.spawn(add(path, std::move(agent), answers));
  co_await asking.idle();
}

Result<MirrorRow> Mirror::choose(std::string_view wanted, std::string_view remote) const {
  std::vector<MirrorRow> all = rows(remote);
  std::vector<const Runtime*> among;
  for (const MirrorRow& row : all) among.push_back(&row.runtime);
  ASSIGN_OR_RETURN(const auto chosen, choose_runtime(wanted, among));
  return std::move(all[chosen]);
}

Result<void> Mirror::dial(const MirrorRow& row, const std::string& tool) {
  for (const auto& agents : agents_) {
    for (const AgentLink* link : agents->links()) {
      MirroredRuntime* const mirrored = link->address() == row.agent ? link->find(row.runtime.id) : nullptr;
      if (mirrored != nullptr) return mirrored->dial(tool);
    }
  }
  return fail("offer", row.runtime.name, "it has ended");
}

}  // namespace farport::router
