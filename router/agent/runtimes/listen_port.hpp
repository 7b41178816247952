// ListenPort: follows one socket on which a runtime listens, from when its file appears until it is gone.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/log.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/agent/runtimes/socket_scan.hpp"
#include "router/agent/runtimes/user_shares.hpp"
#include "transport/socket.hpp"

namespace farport::router {

/// Connects to a runtime's listen port. Requires that the file belongs to this user (or that this user is
/// root), and that the process which listens runs as the file's owner: anything else in a shared directory is
/// not trusted. `opened` is the file itself if it was found through a process. Then only that process may
/// listen (otherwise `cause` is ESRCH), which excludes a mirror's placeholder. The runtime reads one header
/// at a time, so send a whole message at once, and never leave the connection idle.
transport::Task<Result<std::unique_ptr<transport::FdStream>>> connect_to_port(
    transport::Loop& loop, std::string path, std::shared_ptr<const OpenedSocket> opened);

/// Receives what is wrong with a socket of a user.
using ReportPort = std::function<void(uid_t user, const std::string& message)>;

/// A socket that a runtime listens on, found as a file.
class ListenPort final : public DiagnosticPort {
 public:
  /// Questions to the runtime take their turn in `slots`. A configured name replaces the one that the runtime
  /// gives.
  ListenPort(transport::Loop& loop, Registry& registry, Log log, const FoundSocket& found, ProbeSlots& slots,
             ReportPort report, transport::Milliseconds retry);

  /// Lists the runtime in the registry while it lives. Reports once what is wrong with a socket that can't be
  /// used, and tries again every `retry`. Cancel it when the file has gone. It ends by itself only if the
  /// socket was found through a process and that process doesn't listen on it.
  transport::Task<void> follow();

  transport::Task<Connection> open() override;
  [[nodiscard]] transport::PeerCredentials process() const override { return process_; }
  [[nodiscard]] std::uint64_t process_start() const override { return process_start_; }
  [[nodiscard]] const std::string& path() const override { return path_; }
  /// Whether the runtime is in the registry.
  [[nodiscard]] bool listed() const { return listed_; }
  /// Why it is not listed, once that is known.
  [[nodiscard]] const std::optional<DiscoveryProblem>& problem() const { return problem_; }
  /// The same, or that a runtime has been asked for a while and has not answered yet.
  [[nodiscard]] std::optional<DiscoveryProblem> problem_or_delay() const;

 private:
  struct Contact;
  transport::Task<Result<Contact>> make_contact();
  transport::Task<void> until_ended(UniqueFd pidfd, std::string id);
  transport::Task<void> list_provisionally();
  void add_names(Runtime& runtime) const;
  transport::Task<Connection> open_for_probing();
  void report(DiscoveryIssue issue, const Error& error);

  transport::Loop& loop_;
  Registry& registry_;
  Log log_;
  std::string path_;
  std::string name_;
  uid_t owner_;
  std::shared_ptr<const OpenedSocket> opened_;
  Container container_;
  ProbeSlots& slots_;
  ReportPort report_;
  transport::Milliseconds retry_;
  bool listed_ = false;
  bool was_listed_ = false;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();  ///< When following began.
  std::optional<DiscoveryProblem> problem_;
  /// The registry entry made from the process alone, until the runtime says who it is.
  std::unique_ptr<Registry::Entry> provisional_;
  std::string provisional_id_;  ///< The id of that entry or of the last one; empty if there was none.
  transport::PeerCredentials process_;
  std::uint64_t process_start_ = 0;
  std::string reported_;
};

}  // namespace farport::router
