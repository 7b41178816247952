// A Unix socket that runtimes dial: an address of their DOTNET_DiagnosticPorts, in connect mode.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "router/agent/runtimes/connected_runtime.hpp"
#include "router/agent/runtimes/listen_port.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

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
