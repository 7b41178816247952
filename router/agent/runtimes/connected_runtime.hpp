// A runtime that has dialled in, from its first connection until it has ended.
#pragma once

#include <memory>
#include <string>

#include "base/log.hpp"
#include "router/agent/runtimes/connection_queue.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "transport/rate_limited_log.hpp"

namespace farport::router {

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

}  // namespace farport::router
