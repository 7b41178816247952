// AdminServer: the address for health and metrics, where probes and Prometheus ask over plain HTTP/1.1.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "router/agent/admin/http1_connection.hpp"
#include "transport/handshake_limiter.hpp"
#include "transport/socket.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// Where the answers come from.
struct AdminSources {
  /// Why the agent should get no work, a sentence for each reason. Empty if it is ready.
  std::function<std::vector<std::string>()> why_not_ready;
  std::function<std::string()> metrics;  ///< In the text format of Prometheus.
};

/// Answers GET and HEAD of /healthz, /readyz and /metrics.
[[nodiscard]] Http1Answer answer_admin(const AdminSources& sources, const Http1Request& request);

/// Serves the address for health and metrics. Peers there have no identity, so all of them together have a
/// fixed number of connections and one share of the loop.
class AdminServer {
 public:
  AdminServer(transport::Loop& loop, AdminSources sources);
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  /// Opens a port and returns its address. If `share`, the port may be shared with other agents of this user
  /// that do the same. Errors name the address.
  Result<std::string> listen(const transport::Address& address, bool share);
  /// Starts to answer, until this is destroyed. Call it once, after listen().
  void start();
  /// Closes the listening sockets. Open connections stay.
  void leave_ports();

 private:
  transport::Task<void> accept(transport::Listener& listener);
  transport::Task<void> serve(std::unique_ptr<transport::FdStream> connection);

  transport::Loop& loop_;
  Http1Connection::Answerer answerer_;
  Http1Patience patience_;
  transport::Share share_;
  /// A peer beyond the limit ends the oldest connection of the address that has the most.
  transport::HandshakeLimiter places_;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  // Last, since their tasks use all the members above.
  transport::TaskSet serving_;
  transport::TaskSet accepting_;
};

}  // namespace farport::router
