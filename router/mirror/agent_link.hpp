// AgentLink: the mirror's link to one agent, which follows its runtimes and dials again when the session
// breaks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "router/mirror/mirrored_runtime.hpp"
#include "transport/timer.hpp"

namespace farport::router {

/// Which of an agent's runtimes are mirrored, and where else they are offered.
struct MirrorChoice {
  std::vector<std::string> select;  ///< Ids, pids, names, globs; empty: all.
  std::vector<NamedPath> sockets;   ///< Each for the runtime of that id, pid or name; no name: for all.
  std::vector<NamedPath> tools;     ///< The same for sockets of tools that listen.
  std::string remote;               ///< The user's name for the agent: a profile, or HOST:PORT.
  bool none = false;                ///< Nothing is mirrored.
};

class AgentLink;

/// What a link asks and tells those who hold it.
struct LinkEvents {
  /// Asked in each session, before anything is mirrored: whether the link may follow the agent that answered.
  /// If not, the link is ended or its route changed.
  std::function<bool(AgentLink&, const AgentSession&)> may_follow;
  /// The link has listed its runtimes, or its session has ended or could not be opened.
  std::function<void(AgentLink&)> on_change;
};

class AgentLink {
 public:
  AgentLink(MirrorServices& services, LinkEvents events, MirrorChoice choice,
            std::unique_ptr<AgentRoute> route);
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;
  ~AgentLink();

  /// Runs the link until it is cancelled.
  transport::Task<void> run();
  /// Ends running connections, and the session in good order. run() must have been cancelled before.
  transport::Task<void> leave();

  [[nodiscard]] SessionManager& sessions() { return sessions_; }
  [[nodiscard]] const std::string& address() const { return sessions_.address(); }
  /// The instance id of the last agent; empty before there was one, or if it does not tell.
  [[nodiscard]] const std::string& instance() const { return instance_; }
  /// Identifies the last agent; see AgentSession::agent().
  [[nodiscard]] const std::string& agent() const { return agent_; }
  [[nodiscard]] bool connected() const { return session() != nullptr; }
  /// nullptr while there is no session.
  [[nodiscard]] std::shared_ptr<AgentSession> session() const { return sessions_.session(); }
  /// How often the session has broken so far.
  [[nodiscard]] std::uint64_t breaks() const { return breaks_; }
  /// Whether the agent's runtimes have been listed once, or could not be: last_error() then says why.
  [[nodiscard]] bool settled() const { return settled_; }
  /// Whether they are currently listed.
  [[nodiscard]] bool listed() const { return settled_ && last_error_.empty(); }
  /// Whether there is no session and no grace period running.
  [[nodiscard]] bool given_up() const { return !connected() && (!grace_ || grace_over_); }
  [[nodiscard]] const std::string& last_error() const { return last_error_; }
  [[nodiscard]] std::vector<const MirroredRuntime*> runtimes() const;
  /// nullptr if no runtime has this id.
  [[nodiscard]] MirroredRuntime* find(const std::string& id) const;
  /// The user's name for the agent.
  [[nodiscard]] const std::string& remote() const { return choice_.remote; }

 private:
  void lost(const Error& why);
  void forget_mirrored();
  /// Like forget_mirrored(), and logs the connections that are cut off by it.
  void give_up_mirrored();
  transport::Task<void> follow(AgentSession& session);
  transport::Task<void> read_list(AgentSession& session, transport::Http2Stream& answer);
  transport::Task<void> apply(RuntimeEvent event);
  [[nodiscard]] std::string described(const Runtime& runtime) const;
  void tell_halt(const Runtime& now, Halt before);
  transport::Task<void> add(Runtime runtime);
  transport::Task<void> mirror(Runtime runtime);
  void mirror_again(const std::string& id);
  void retire(std::unique_ptr<MirroredRuntime> mirrored);
  void remove(const std::string& id);
  void remove_unlisted();
  void settle(std::string error);
  [[nodiscard]] bool has_room();
  [[nodiscard]] bool selected(const Runtime& runtime) const;

  MirrorServices& services_;
  LinkEvents events_;
  MirrorChoice choice_;
  SessionManager sessions_;
  std::optional<transport::Deadline> grace_;  ///< How long mirrored runtimes outlive a broken session.
  bool grace_over_ = false;
  std::string instance_;
  std::string agent_;
  bool settled_ = false;
  std::uint64_t breaks_ = 0;
  std::string last_error_;
  std::map<std::string, std::unique_ptr<MirroredRuntime>> mirrored_;  ///< By id.
  std::map<std::string, Runtime> starting_;  ///< Runtimes whose placeholder is being started.
  std::set<std::string> listed_;  ///< Ids told of in this session; others are gone once the list is complete.
  std::size_t unselected_ = 0;    ///< Runtimes of this session that are not selected.
  bool full_ = false;             ///< Runtimes are left out for lack of room, and that was logged.
  transport::TaskSet tasks_;
};

}  // namespace farport::router
