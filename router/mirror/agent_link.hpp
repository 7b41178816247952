// The mirror's link to one agent: dials, follows the agent's runtimes, and dials again when it breaks.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "router/mirror/mirrored_runtime.hpp"
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

class AgentLink;

/// Who keeps the links, and knows which of them lead to the same agent.
class LinkOwner {
 public:
  /// Asked in each session, before anything is mirrored: whether the link is the one for the agent that has
  /// answered in this session. Where not, the owner ends the link or gives it another way.
  [[nodiscard]] virtual bool may_follow(AgentLink& link, const AgentSession& session) = 0;
  /// The link has listed its runtimes, or its session has ended or could not be had.
  virtual void link_changed(AgentLink& link) = 0;

 protected:
  ~LinkOwner() = default;
};

class AgentLink {
 public:
  AgentLink(MirrorServices& services, LinkOwner& owner, MirrorChoice choice,
            std::unique_ptr<AgentRoute> route);
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;
  ~AgentLink();

  /// Keeps the link until it is cancelled.
  transport::Task<void> run();
  /// Ends what runs, and the session in good order. run() must not go on.
  transport::Task<void> leave();

  [[nodiscard]] SessionManager& sessions() { return sessions_; }
  [[nodiscard]] const std::string& address() const { return sessions_.address(); }
  /// Which agent there was last; empty before there was one, and where it does not say so.
  [[nodiscard]] const std::string& instance() const { return instance_; }
  /// The same, as AgentSession::agent() has it.
  [[nodiscard]] const std::string& agent() const { return agent_; }
  [[nodiscard]] bool connected() const { return session() != nullptr; }
  /// nullptr while there is none.
  [[nodiscard]] std::shared_ptr<AgentSession> session() const { return sessions_.session(); }
  /// How often its session has broken so far.
  [[nodiscard]] std::uint64_t breaks() const { return breaks_; }
  /// Whether the agent's runtimes have been listed once, or can't be: then last_error() says why.
  [[nodiscard]] bool settled() const { return settled_; }
  /// Whether they are listed now.
  [[nodiscard]] bool listed() const { return settled_ && last_error_.empty(); }
  /// Whether there is no session, and nothing that waits for one.
  [[nodiscard]] bool given_up() const { return !connected() && (!grace_ || grace_over_); }
  [[nodiscard]] const std::string& last_error() const { return last_error_; }
  [[nodiscard]] std::vector<const MirroredRuntime*> runtimes() const;
  /// nullptr where there is none of this id.
  [[nodiscard]] MirroredRuntime* find(const std::string& id) const;
  /// What the agent's user calls it.
  [[nodiscard]] const std::string& remote() const { return choice_.remote; }

 private:
  void lost(const Error& why);
  void forget_mirrored();
  /// The same, saying what is cut off by it.
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
  LinkOwner& owner_;
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
  std::map<std::string, Runtime> starting_;  ///< Those whose placeholder is being started, as they are now.
  std::set<std::string>
      listed_;  ///< Of these, told of in this session: the others are gone once it is complete.
  std::size_t unselected_ = 0;  ///< Told of in this session, and not to be mirrored.
  bool full_ = false;           ///< Some are left out, which has been said.
  transport::TaskSet tasks_;
};

}  // namespace farport::router
