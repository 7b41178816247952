// The epoll loop: listens on the ports, reads commands, writes answers and sessions' streams.
#pragma once

#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ipc/message.hpp"
#include "ipc/payload.hpp"
#include "options.hpp"

namespace farport::fake {

/// One runtime and its listen port.
struct Port {
  int fd = -1;
  std::string path;
  ipc::ProcessInfo info;
};

/// One diagnostic connection.
struct Connection {
  int fd = -1;
  const Port* port = nullptr;
  ipc::Bytes in;
  ipc::Bytes out;           ///< Still to be written before anything else.
  std::size_t written = 0;  ///< Of `out`.
  bool streaming = false;
  bool endless = false;
  bool silent = false;                            ///< Nothing comes while it is endless.
  std::uint64_t left = 0;                         ///< Of the stream, where it has an end.
  std::uint64_t streamed = 0;                     ///< Of the stream.
  std::chrono::steady_clock::time_point began{};  ///< The stream.
  std::uint64_t session = 0;
  bool close_when_written = false;
  bool client_finished = false;  ///< It has shut down its sending.
  std::uint32_t watched = 0;     ///< The epoll events of the last watch().
};

class Server {
 public:
  /// Makes the sockets. Throws std::runtime_error.
  explicit Server(const Options& options);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Removes the sockets, unless they are to be left.
  ~Server();

  /// Serves until `stopped` is set by a signal.
  void run(const volatile std::sig_atomic_t& stopped);

 private:
  void listen(std::string path, std::uint64_t pid);
  void accept(const Port& port);
  void read(Connection& connection);
  void handle(Connection& connection, const ipc::Message& message);
  void start_session(Connection& connection);
  void stop_session(std::uint64_t session);
  /// How much of the stream it may write now.
  [[nodiscard]] std::uint64_t allowed(const Connection& connection) const;
  /// Goes on with the streams that have a rate.
  void write_streams();
  /// Writes what it can; false when the connection is over.
  bool write(Connection& connection);
  /// Asks epoll for what the connection still waits for, once it has something to write.
  void watch(Connection& connection) const;
  void close(int fd);

  Options options_;
  int epoll_ = -1;
  std::vector<std::unique_ptr<Port>> ports_;
  std::map<int, Connection> connections_;
  std::uint64_t next_session_ = 1;
  ipc::Bytes block_;  ///< What streams are made of.
};

}  // namespace farport::fake
