// ConnectPort: a Unix socket that runtimes dial, named in their DOTNET_DiagnosticPorts in connect mode.
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

/// Brings together the connections of a runtime that has dialled in and the commands that wait for one.
/// Shared by the runtime's port and by the commands under way, which may outlive the port.
class ConnectionQueue {
 public:
  /// `name` is what errors call the runtime.
  ConnectionQueue(transport::Loop& loop, std::string name) : loop_(loop), name_(std::move(name)) {}
  ConnectionQueue(const ConnectionQueue&) = delete;
  ConnectionQueue& operator=(const ConnectionQueue&) = delete;

  /// Adds a connection. A runtime has one that waits, but another process may pretend to have any number, so
  /// the oldest is closed if there are more than a few.
  void add(std::unique_ptr<transport::FdStream> connection);

  /// Waits for the next connection, first come, first served: a runtime that has got a command dials again at
  /// once. Errors: it doesn't dial within kRedialLimit, or close() was called.
  static transport::Task<DiagnosticPort::Connection> take(std::shared_ptr<ConnectionQueue> queue);

  /// Closes the queue because the runtime has ended. Drops the connections in it and fails the commands that
  /// wait. Connections that were taken live on.
  void close();

  /// Whether any connection is open, in the queue or taken.
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
  /// Each connection that was taken holds a reference, so the use count says how many are still open.
  std::shared_ptr<void> taken_ = std::make_shared<char>();
};

/// What all runtimes of one ConnectPort share.
struct ConnectServices {
  transport::Loop& loop;
  Registry& registry;
  Log log;
  transport::RateLimitedLog& warnings;
  std::string path;  ///< The path of the socket that they dial.
};

/// For example "process 4711 of user 1000", or "a process of user 1000 that is not visible here".
[[nodiscard]] std::string describe(const transport::PeerCredentials& process);

/// A runtime that has dialled in, from its first connection to its end.
class ConnectedRuntime final : public DiagnosticPort {
 public:
  /// `id` is what the process has advertised. `services` must outlive this object.
  ConnectedRuntime(const ConnectServices& services, std::string id, transport::PeerCredentials process);

  /// Takes another connection of the same process, on which it has advertised the same id.
  void arrived(std::unique_ptr<transport::FdStream> connection) { queue_->add(std::move(connection)); }

  /// Asks the runtime who it is, and lists it in the registry until it has ended. Call this once there is a
  /// connection. If something is wrong with the runtime, this returns only after a while, since the runtime
  /// would dial again at once.
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

/// Owns the socket and follows the runtimes that dial it.
class ConnectPort {
 public:
  /// Makes the socket, and replaces one that a dead agent has left at `path`. Only the agent's own user may
  /// connect, unless that is root: then all users may, and each runtime is listed with the process and user
  /// that the kernel reports. Errors: something else is at `path`, or its directory can't be used.
  static Result<std::unique_ptr<ConnectPort>> create(transport::Loop& loop, Registry& registry, Log log,
                                                     std::string path);

  ConnectPort(transport::Loop& loop, Registry& registry, Log log,
              std::unique_ptr<transport::Listener> listener, SocketFile file);
  ConnectPort(const ConnectPort&) = delete;
  ConnectPort& operator=(const ConnectPort&) = delete;
  /// Removes the socket if it is still the file that this object has made.
  ~ConnectPort();

  /// Accepts connections and lists the runtimes behind them, until it is cancelled.
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
  bool some_ended_ = false;                         ///< Whether some followers have ended.
  transport::TaskSet greetings_;                    ///< Last, since its tasks use all the members above.
};

}  // namespace farport::router
