// The mirror: `farport connect`. Makes the runtimes of one or several agents look local.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "router/certificates/credential_watch.hpp"
#include "router/mirror/agent_route.hpp"
#include "router/mirror/owned_directory.hpp"
#include "router/mirror/remote_agents.hpp"

namespace farport::router {

/// How long a command waits for agents to list their runtimes.
inline constexpr transport::Milliseconds kSettleLimit{20'000};

struct MirrorSettings {
  std::vector<MirroredAgent> agents;
  std::string socket_directory;
  std::vector<NamedSocket> sockets{};  ///< Where else runtimes are offered.
  std::vector<NamedSocket> tools{};    ///< Tools that listen, which every runtime dials, or those of a name.
  SessionOptions session{};
};

/// One row of what a mirror shows.
struct MirrorRow {
  Runtime runtime;
  std::string agent;
  std::string remote;  ///< What the agent's user calls it.
  pid_t local_pid = 0;
  std::string socket;
  std::size_t active = 0;            ///< Open diagnostic connections.
  std::optional<DumpProgress> dump;  ///< That a tool waits for.
  bool connected = true;             ///< false while the session with the agent is being dialled again.
  std::uint64_t breaks = 0;          ///< Of that session so far: some are too short to be seen.
};

/// The state of the link to one agent.
struct LinkRow {
  std::string agent;
  bool connected = false;
  std::string last_error;
};

/// What an agent has answered to a mirror's question.
struct AgentAnswer {
  std::string agent;      ///< Where it is.
  std::string remote;     ///< What its user calls it.
  bool selected = false;  ///< Only some of its runtimes are to be mirrored.
  Result<std::string> body;
};

class Mirror {
 public:
  Mirror(transport::Loop& loop, Log log, MirrorSettings settings);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  /// Claims the socket directory and starts following the agents. Errors name what can't be used; a name that
  /// is not known and an agent that doesn't answer are no errors: they are tried again and again.
  transport::Task<Result<void>> start();
  /// Passes when every agent has listed its runtimes or failed to, once. Errors: all of them failed.
  transport::Task<Result<void>> settled();
  /// Ends the links in good order, so that no agent waits for this mirror to come back.
  transport::Task<void> leave();
  /// Ends the waiting of settled() with what there is by now.
  void stop_settling();
  /// Reads certificates, keys, CAs and CRLs again.
  void reload_certificates();
  [[nodiscard]] transport::Loop& loop() const { return loop_; }
  /// Passes when something has changed since the last time. For one waiter.
  [[nodiscard]] transport::Event& changed() { return changed_; }

  /// What is mirrored of a remote; with an empty one of all. Two remotes may lead to the same agent.
  [[nodiscard]] std::vector<MirrorRow> rows(std::string_view remote = {}) const;
  /// How many runtimes are mirrored, with those that are just starting or going.
  [[nodiscard]] std::size_t mirrored() const { return services_ == nullptr ? 0 : services_->runtimes; }
  /// Whether every agent has listed its runtimes and there is none to mirror.
  [[nodiscard]] bool lists_nothing() const;
  [[nodiscard]] std::vector<LinkRow> links() const;
  /// Sends a GET to every agent there is a session with, all at once, in that session. In the order in which
  /// they answer.
  transport::Task<void> ask(std::string path, std::vector<AgentAnswer>& answers);
  /// The mirrored runtime that a person means (see choose_runtime()), of one remote or of all.
  [[nodiscard]] Result<MirrorRow> choose(std::string_view wanted, std::string_view remote = {}) const;
  /// Has the runtime of that row dial a tool that listens at `tool`. Errors: it is not mirrored any more.
  Result<void> dial(const MirrorRow& row, const std::string& tool);
  /// Connections so far that were cut off: they ended before the tool or the runtime ended them.
  [[nodiscard]] std::uint64_t cut_off() const { return services_ == nullptr ? 0 : services_->cut_off; }

 private:
  Result<std::unique_ptr<RemoteAgents>> agents_behind(const MirroredAgent& agent);
  [[nodiscard]] bool is_followed_elsewhere(const RemoteAgents& than, const std::string& agent) const;
  [[nodiscard]] bool leads_to(std::string_view remote, const AgentLink& link) const;
  CredentialWatch& watch_of(const auth::TlsCredentialsPtr& credentials);

  transport::Loop& loop_;
  Log log_;
  MirrorSettings settings_;
  transport::Event changed_;
  bool stopped_settling_ = false;
  transport::BufferPool buffers_;
  std::unique_ptr<SocketManifest> files_;
  std::unique_ptr<OwnedDirectory> programs_;  ///< What placeholders execute.
  std::unique_ptr<PlaceholderImage> image_;
  std::unique_ptr<MirrorServices> services_;
  std::map<const auth::TlsCredentials*, std::unique_ptr<CredentialWatch>>
      credentials_;  ///< By what was first.
  std::vector<std::unique_ptr<RemoteAgents>> agents_;
  transport::TaskSet tasks_;  ///< Last: the agents' tasks use all the rest.
};

}  // namespace farport::router
