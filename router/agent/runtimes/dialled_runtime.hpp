// A runtime that has dialled in, from its first connection until it has ended.
#pragma once

#include <memory>
#include <string>

#include "base/log.hpp"
#include "router/agent/runtimes/dialled_line.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "transport/rate_limited_log.hpp"

namespace farport::router {

/// What the runtimes of one dial-in port share.
struct DialInServices {
  transport::Loop& loop;
  Registry& registry;
  Log log;
  transport::RateLimitedLog& warnings;
  std::string path;  ///< Of the socket that they dial.
};

/// "process 4711 of user 1000"; the process is left out where it isn't visible here.
[[nodiscard]] std::string describe(const transport::PeerCredentials& process);

class DialledRuntime final : public RuntimePort {
 public:
  /// `id` is what the process advertised; `services` outlives the runtime.
  DialledRuntime(const DialInServices& services, std::string id, transport::PeerCredentials process);

  /// Another connection on which that id was advertised, by the same process.
  void arrived(std::unique_ptr<transport::FdStream> connection) { line_->add(std::move(connection)); }

  /// Learns who the runtime is, and lists it in the registry until it has ended. To be called with the first
  /// connection there. Ends with the runtime, or a while after something turned out to be wrong with it,
  /// since it would be back at once.
  transport::Task<void> follow();

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] bool listed() const { return listed_; }

  transport::Task<Connection> open() override { return DialledLine::take(line_); }
  [[nodiscard]] transport::PeerCredentials process() const override { return process_; }
  [[nodiscard]] const std::string& path() const override { return services_.path; }

 private:
  transport::Task<Result<Runtime>> meet();
  transport::Task<void> give_up(transport::UniqueFd pidfd, Error wrong);
  transport::Task<void> until_ended(transport::UniqueFd pidfd);

  const DialInServices& services_;
  std::string id_;
  transport::PeerCredentials process_;
  std::shared_ptr<DialledLine> line_;
  bool listed_ = false;
};

}  // namespace farport::router
