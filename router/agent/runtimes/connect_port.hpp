// A Unix socket that runtimes dial: an address of their DOTNET_DiagnosticPorts, in connect mode.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "router/agent/runtimes/listen_port.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "transport/event.hpp"
#include "transport/rate_limited_log.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// The connections of a runtime that has dialled in: those that wait for a command, and the commands that
/// wait for one. Shared by the runtime's port and by the commands under way, which may outlive it.
class ConnectionQueue {
 public:
  /// `name` stands for the runtime in errors.
  ConnectionQueue(transport::Loop& loop, std::string name) : loop_(loop), name_(std::move(name)) {}
  ConnectionQueue(const ConnectionQueue&) = delete;
  ConnectionQueue& operator=(const ConnectionQueue&) = delete;

  /// A runtime has one connection that waits; another process may pretend to have any number. The oldest is
  /// closed where there are more than a few.
  void add(std::unique_ptr<transport::FdStream> connection);

  /// The next connection, in the order of asking: a runtime that has got a command dials again at once.
  /// Errors: it doesn't within kRedialLimit, or close() was called.
  static transport::Task<DiagnosticPort::Connection> take(std::shared_ptr<ConnectionQueue> queue);

  /// The runtime has ended: drops the connections that wait, and fails the commands that wait. What was taken
  /// lives on.
  void close();

  /// Whether a connection is open, in here or in a command's hands.
  [[nodiscard]] bool alive();

  static constexpr transport::Milliseconds kRedialLimit{5000};

 private:
  struct Waiter;
  void drop_closed();
  std::unique_ptr<transport::FdStream> acquire(std::unique_ptr<transport::FdStream> connection);

  transport::Loop& loop_;
  std::string name_;
  std::deque<std::unique_ptr<transport::FdStream>> waiting_;
  transport::NodeList waiters_;
  bool closed_ = false;
  /// Each connection that was taken holds it too: its use count tells how many of them still live.
  std::shared_ptr<void> taken_ = std::make_shared<char>();
};

// A runtime that has dialled in, from its first connection until it has ended.

/// What the runtimes of one ConnectPort share.
struct ConnectServices {
  transport::Loop& loop;
  Registry& registry;
  Log log;
  transport::RateLimitedLog& warnings;
  std::string path;  ///< Of the socket that they dial.
};

/// "process 4711 of user 1000"; the process is left out where it isn't visible here.
[[nodiscard]] std::string describe(const transport::PeerCredentials& process);

class ConnectedRuntime final : public DiagnosticPort {
 public:
  /// `id` is what the process advertised; `services` outlives the runtime.
  ConnectedRuntime(const ConnectServices& services, std::string id, transport::PeerCredentials process);

  /// Another connection on which that id was advertised, by the same process.
  void arrived(std::unique_ptr<transport::FdStream> connection) { queue_->add(std::move(connection)); }

  /// Learns who the runtime is, and lists it in the registry until it has ended. To be called with the first
  /// connection there. Ends with the runtime, or a while after something turned out to be wrong with it,
  /// since it would be back at once.
  transport::Task<void> follow();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] bool listed() const { return listed_; }

  transport::Task<Connection> open() override { return ConnectionQueue::take(queue_); }
  [[nodiscard]] transport::PeerCredentials process() const override { return process_; }
  [[nodiscard]] std::uint64_t process_start() const override { return process_start_; }
  [[nodiscard]] const std::string& path() const override { return services_.path; }

 private:
  transport::Task<Result<Runtime>> meet();
  transport::Task<void> give_up(UniqueFd pidfd, Error wrong);
  transport::Task<void> until_ended(UniqueFd pidfd);

  const ConnectServices& services_;
  std::string id_;
  transport::PeerCredentials process_;
  std::uint64_t process_start_ = 0;
  std::shared_ptr<ConnectionQueue> queue_;
  bool listed_ = false;
};

class ConnectPort {
 public:
  /// Makes the socket. What a dead agent has left at `path` is replaced. It is private to our user, but for
  /// root's: runtimes of all users may dial that one, and each is taken for the process and the user that it
  /// is. Errors: something else is there, or the directory can't be used.
  static Result<std::unique_ptr<ConnectPort>> create(transport::Loop& loop, Registry& registry, Log log,
                                                     std::string path);

  ConnectPort(transport::Loop& loop, Registry& registry, Log log,
              std::unique_ptr<transport::Listener> listener, SocketFile file);
  ConnectPort(const ConnectPort&) = delete;
  ConnectPort& operator=(const ConnectPort&) = delete;
  /// Removes the socket, if it is still this one.
  ~ConnectPort();

  /// Takes connections and lists the runtimes behind them, until it is cancelled.
  transport::Task<void> run();

  [[nodiscard]] const std::string& path() const { return services_.path; }

 private:
  using Connection = std::unique_ptr<transport::FdStream>;
  struct Follower;
  /// A connection on which nothing has been advertised yet.
  struct Silent {
    transport::FdStream* connection;
    uid_t user;
  };

  transport::Task<void> greet(Connection connection);
  transport::Task<Result<std::string>> read_id(transport::FdStream& connection, uid_t user);
  void end_a_silent_one();
  void deliver(Connection connection, std::string id, const transport::PeerCredentials& process);
  void begin(Connection connection, std::string id, const transport::PeerCredentials& process);
  [[nodiscard]] bool has_share_left(uid_t user);
  void make_room();

  std::unique_ptr<transport::Listener> listener_;
  SocketFile file_;
  transport::RateLimitedLog warnings_;
  ConnectServices services_;
  UserShares shares_;
  std::list<Silent> silent_;                        ///< Oldest first.
  std::list<std::unique_ptr<Follower>> followers_;  ///< The runtimes, oldest first.
  bool some_ended_ = false;                         ///< Of the followers.
  transport::TaskSet greetings_;                    ///< Last: its tasks use all the rest.
};

}  // namespace farport::router
