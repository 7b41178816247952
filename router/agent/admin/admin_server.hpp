// AdminServer: where probes and Prometheus ask. Nobody there has an identity, so it costs little however many
// there are.
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

// What the address for health and metrics answers.

/// What the agent says of itself there.
struct AdminSources {
  /// Why it should get no work; none if it is ready. A sentence each.
  std::function<std::vector<std::string>()> why_not_ready;
  std::function<std::string()> metrics;  ///< In Prometheus' text format.
};

/// GET or HEAD of /healthz, /readyz and /metrics.
[[nodiscard]] Http1Answer answer_admin(const AdminSources& sources, const Http1Request& request);

class AdminServer {
 public:
  AdminServer(transport::Loop& loop, AdminSources sources);
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

  /// Opens a port, and returns its address. `share`: beside other agents of this user that do so too. Errors
  /// name the address.
  Result<std::string> listen(const transport::Address& address, bool share);
  /// Begins to answer, until it is destroyed. Once, and after listen().
  void start();
  /// Leaves the ports to others. Who is connected stays so.
  void leave_ports();

 private:
  transport::Task<void> accept(transport::Listener& listener);
  transport::Task<void> serve(std::unique_ptr<transport::FdStream> connection);

  transport::Loop& loop_;
  Http1Connection::Answerer answerer_;
  Http1Patience patience_;
  transport::Share share_;
  /// Whoever is silent makes room for who comes.
  transport::HandshakeLimiter places_;
  std::vector<std::unique_ptr<transport::Listener>> listeners_;
  // Last: their tasks use all the rest.
  transport::TaskSet serving_;
  transport::TaskSet accepting_;
};

}  // namespace farport::router
