#include "router/agent/admin/admin_server.hpp"

#include "base/escape.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/wire/http_status.hpp"

namespace farport::router {
namespace {

Http1Answer ok() {
  return {http_status::kOk, "ok\n"};
}

Http1Answer readiness(const AdminSources& sources) {
  std::string reasons;
  for (const std::string& reason : sources.why_not_ready()) reasons += escape(reason) + "\n";
  return reasons.empty() ? ok() : Http1Answer{http_status::kUnavailable, reasons};
}

}  // namespace

Http1Answer answer_admin(const AdminSources& sources, const Http1Request& request) {
  const bool health = request.path == "/healthz";
  const bool ready = request.path == "/readyz";
  if (!health && !ready && request.path != "/metrics") {
    return {http_status::kNotFound, "Here are /healthz, /readyz and /metrics.\n"};
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return {http_status::kMethodNotAllowed, "Here are GET and HEAD.\n"};
  }
  // Any answer at all shows that the loop turns.
  if (health) return ok();
  if (ready) return readiness(sources);
  return {http_status::kOk, sources.metrics(), kMetricsContentType};
}

namespace {

using transport::Task;

/// More than probes and a few Prometheus servers need.
constexpr std::size_t kMaxConnections = 64;
/// How long all peers here may keep the loop busy in one turn.
constexpr std::chrono::milliseconds kShare{1};

}  // namespace

AdminServer::AdminServer(transport::Loop& loop, AdminSources sources)
    : loop_(loop),
      answerer_([sources = std::move(sources)](const Http1Request& request) {
        return answer_admin(sources, request);
      }),
      share_(loop, kShare),
      places_(kMaxConnections),
      serving_(loop),
      accepting_(loop) {}

Result<std::string> AdminServer::listen(const transport::Address& address, bool share) {
  ASSIGN_OR_RETURN(auto listener, transport::Listener::tcp(loop_, address, share));
  listeners_.push_back(std::move(listener));
  return listeners_.back()->name();
}

void AdminServer::start() {
  for (const auto& listener : listeners_) accepting_.spawn(accept(*listener));
}

void AdminServer::leave_ports() {
  accepting_.clear();
  listeners_.clear();
}

Task<void> AdminServer::accept(transport::Listener& listener) {
  for (;;) {
    auto connection = co_await listener.accept();
    serving_.spawn(serve(std::move(connection)));
    // Let a connection that makes room for this one go before the next one is accepted.
    co_await transport::next_turn(loop_);
  }
}

Task<void> AdminServer::serve(std::unique_ptr<transport::FdStream> connection) {
  transport::FdStream& socket = *connection;
  std::function<void()> make_room = [&socket] {
    socket.abort(
        Error{"answer",
              "the peer",
              "there are too many connections, and this one was the oldest of the network with the most",
              {},
              Cause(ENOBUFS)});
  };
  const transport::HandshakeLimiter::Entry place(places_, socket.name(), std::move(make_room));
  Http1Connection http(socket, share_, patience_, answerer_);
  co_await http.serve();
}

}  // namespace farport::router
