// Following one listen port: from the moment its socket file is there until it has gone.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/log.hpp"
#include "router/registry.hpp"
#include "transport/socket.hpp"

namespace farport::router {

/// What makes a socket file the same file as before.
struct SocketFile {
  dev_t device = 0;
  ino_t inode = 0;
  uid_t owner = 0;
  bool operator==(const SocketFile&) const = default;
};

/// The socket file at `path`. Links are not followed. Errors: there is none, or it is something else.
[[nodiscard]] Result<SocketFile> inspect_socket(const std::string& path);

/// Connects to a runtime's listen port, if its file belongs to our user (or we are root) and the process that
/// listens has the file's owner: anything else in a shared directory is not a runtime of ours. The runtime
/// reads one header at a time, so send a whole message at once and never leave the connection idle.
transport::Task<Result<std::unique_ptr<transport::FdStream>>> connect_port(transport::Loop& loop,
                                                                           std::string path);

/// A listen port, which is found as a socket file.
class DiagnosticPort final : public RuntimePort {
 public:
  /// `name`: what the user calls the runtime here; empty: what it calls itself.
  DiagnosticPort(transport::Loop& loop, Registry& registry, Log log, std::string path, std::string name,
                 transport::Milliseconds retry);

  /// Lists the runtime in the registry while it lives. Says once what is wrong with a socket that can't be
  /// used, and tries again every `retry`. Never ends by itself: cancel it when the file has gone.
  transport::Task<void> follow();

  transport::Task<Connection> open() override { return connect_port(loop_, path_); }
  [[nodiscard]] transport::PeerCredentials process() const override { return process_; }
  [[nodiscard]] const std::string& path() const override { return path_; }

 private:
  struct Contact;
  transport::Task<Result<Contact>> make_contact();
  transport::Task<void> until_ended(Contact contact);
  void report(const Error& error);

  transport::Loop& loop_;
  Registry& registry_;
  Log log_;
  std::string path_;
  std::string name_;
  transport::Milliseconds retry_;
  transport::PeerCredentials process_;
  std::string reported_;
};

}  // namespace farport::router
