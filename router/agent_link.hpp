// The mirror's link to one agent: dials, follows the agent's runtimes, and dials again when it breaks.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "router/credential_watch.hpp"
#include "router/mirrored_runtime.hpp"
#include "transport/timer.hpp"

namespace farport::router {

struct NamedSocket {
  std::string name;  ///< Which runtime: an id, a pid or a name; empty: every one.
  std::string path;
};

/// Which of an agent's runtimes are mirrored, and where else they are offered.
struct MirrorChoice {
  std::vector<std::string> select;  ///< Ids, pids, names, globs; empty: all.
  std::vector<NamedSocket> sockets;
  std::vector<NamedSocket> tools;  ///< Sockets of tools that listen.
  std::string remote;              ///< What the agent's user calls it: a profile, or HOST:PORT.
};

class AgentLink {
 public:
  AgentLink(MirrorServices& services, MirrorChoice choice, AgentDialler::Target target,
            CredentialWatch& credentials);
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;
  ~AgentLink();

  /// Keeps the link until it is cancelled.
  transport::Task<void> run();
  /// Ends what runs, and the session in good order. run() must not go on.
  transport::Task<void> leave();

  [[nodiscard]] const std::string& address() const { return dialler_.address(); }
  [[nodiscard]] bool connected() const { return dialler_.session() != nullptr; }
  /// How often its session has broken so far.
  [[nodiscard]] std::uint64_t breaks() const { return breaks_; }
  /// Whether the agent's runtimes have been listed once, or can't be: then last_error() says why.
  [[nodiscard]] bool settled() const { return settled_; }
  [[nodiscard]] const std::string& last_error() const { return last_error_; }
  [[nodiscard]] std::vector<const MirroredRuntime*> runtimes() const;
  /// nullptr where there is none of this id.
  [[nodiscard]] MirroredRuntime* find(const std::string& id) const;
  /// What the agent's user calls it.
  [[nodiscard]] const std::string& remote() const { return choice_.remote; }

 private:
  void lost(const Error& why);
  transport::Task<void> follow(AgentSession& session);
  transport::Task<void> apply(RuntimeEvent event);
  transport::Task<void> mirror(Runtime runtime);
  transport::Task<void> mirror_again(std::string id);
  transport::Task<void> retire(std::unique_ptr<MirroredRuntime> mirrored);
  void remove(const std::string& id);
  void remove_unlisted();
  void settle(std::string error);
  [[nodiscard]] bool selected(const Runtime& runtime) const;

  MirrorServices& services_;
  MirrorChoice choice_;
  AgentDialler dialler_;
  std::optional<transport::Deadline> grace_;  ///< How long mirrored runtimes outlive a broken session.
  bool settled_ = false;
  std::uint64_t breaks_ = 0;
  std::string last_error_;
  std::map<std::string, std::unique_ptr<MirroredRuntime>> mirrored_;  ///< By id.
  std::set<std::string> listed_;  ///< Ids told of in this session: the others are gone once it is complete.
  transport::TaskSet tasks_;
};

}  // namespace farport::router
