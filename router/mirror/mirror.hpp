// Mirror: makes the runtimes of one or several agents look local (`farport connect`).
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
  std::vector<NamedPath> sockets{};  ///< Extra sockets at which runtimes are offered.
  std::vector<NamedPath> tools{};    ///< Listening tools that all runtimes, or those of a name, dial.
  SessionOptions session{};
  bool agents_only = false;  ///< Mirror no runtime: only follow the agents, and ask them.
};

/// One row of what a mirror shows.
struct MirrorRow {
  Runtime runtime;
  std::string agent;
  std::string remote;  ///< The user's name for the agent.
  pid_t local_pid = 0;
  std::string socket;
  std::size_t active = 0;            ///< Open diagnostic connections.
  std::optional<DumpProgress> dump;  ///< Progress of a dump that a tool waits for.
  bool connected = true;             ///< false while the session with the agent is being reopened.
  std::uint64_t breaks = 0;          ///< Of that session so far; some are too short to be seen.
  bool operator==(const MirrorRow&) const = default;
};

/// The state of the link to one agent.
struct LinkRow {
  std::string agent;
  bool connected = false;
  std::string last_error;
};

/// An agent with which there is a session.
struct ConnectedAgent {
  std::string agent;                      ///< Its address.
  std::string remote;                     ///< The user's name for it.
  bool selected = false;                  ///< Only some of its runtimes are to be mirrored.
  std::shared_ptr<AgentSession> session;  ///< The one that there is now.
};

/// What one of them has answered.
struct AgentAnswer {
  ConnectedAgent from;
  Result<std::string> body;
};

class Mirror {
 public:
  Mirror(transport::Loop& loop, Log log, MirrorSettings settings);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  /// Claims the socket directory and starts following the agents. Fails if something local can't be used.
  /// Unknown names and silent agents are not errors: they are retried.
  transport::Task<Result<void>> start();
  /// Waits until every agent has listed its runtimes or failed to, once. Fails if all of them failed.
  transport::Task<Result<void>> settled();
  /// Ends the links in good order, so that no agent waits for this mirror to come back.
  transport::Task<void> leave();
  /// Makes settled() return with what there is by now.
  void stop_settling();
  /// Reads certificates, keys, CAs and CRLs again.
  void reload_certificates();
  [[nodiscard]] transport::Loop& loop() const { return loop_; }
  /// Set when something has changed. For one waiter.
  [[nodiscard]] transport::Event& changed() { return changed_; }

  /// The mirrored runtimes of a remote; of all if it is empty. Two remotes may lead to the same agent.
  [[nodiscard]] std::vector<MirrorRow> rows(std::string_view remote = {}) const;
  /// How many runtimes are mirrored, including those that are starting or ending.
  [[nodiscard]] std::size_t mirrored() const { return services_ == nullptr ? 0 : services_->runtimes; }
  /// Whether every agent has listed its runtimes and none is to be mirrored.
  [[nodiscard]] bool lists_nothing() const;
  [[nodiscard]] std::vector<LinkRow> links() const;
  /// Every agent with a session.
  [[nodiscard]] std::vector<ConnectedAgent> connected() const;
  /// Sends a GET to each of them, all at once. `answers` are in the order of arrival.
  transport::Task<void> ask(std::string path, std::vector<AgentAnswer>& answers);
  /// The mirrored runtime that `wanted` selects (see choose_runtime()), of one remote or of all.
  [[nodiscard]] Result<MirrorRow> choose(std::string_view wanted, std::string_view remote = {}) const;
  /// Makes the runtime of that row dial a tool that listens at `tool`. Fails if it is no longer mirrored.
  Result<void> dial(const MirrorRow& row, const std::string& tool);
  /// Connections so far that ended before either the tool or the runtime ended them.
  [[nodiscard]] std::uint64_t cut_off() const { return services_ == nullptr ? 0 : services_->cut_off; }

 private:
  Result<std::unique_ptr<RemoteAgents>> agents_behind(const MirroredAgent& agent);
  [[nodiscard]] bool is_followed_elsewhere(const RemoteAgents& than, const std::string& agent) const;
  [[nodiscard]] bool leads_to(std::string_view remote, const AgentLink& link) const;
  CredentialWatch& watch_of(const auth::TlsCredentialsPtr& credentials);
  transport::Task<void> give_back_memory();

  transport::Loop& loop_;
  Log log_;
  MirrorSettings settings_;
  transport::Event changed_;
  std::uint64_t changes_ = 0;
  bool stopped_settling_ = false;
  transport::BufferPool buffers_;
  std::unique_ptr<SocketManifest> files_;
  std::unique_ptr<OwnedDirectory> programs_;  ///< Holds the files that placeholders execute.
  std::unique_ptr<PlaceholderImage> image_;
  std::unique_ptr<MirrorServices> services_;
  std::map<const auth::TlsCredentials*, std::unique_ptr<CredentialWatch>>
      credentials_;  ///< Keyed by the first credentials.
  std::vector<std::unique_ptr<RemoteAgents>> agents_;
  transport::TaskSet tasks_;  ///< Last: the agents' tasks use all other members.
};

}  // namespace farport::router
