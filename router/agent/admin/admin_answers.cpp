#include "router/agent/admin/admin_answers.hpp"

#include "base/escape.hpp"
#include "router/agent/metrics/metrics_text.hpp"

namespace farport::router {
namespace {

Http1Answer ok() {
  return {HTTP_STATUS_OK, "ok\n"};
}

Http1Answer readiness(const AdminSources& sources) {
  std::string reasons;
  for (const std::string& reason : sources.why_not_ready()) reasons += escape(reason) + "\n";
  return reasons.empty() ? ok() : Http1Answer{HTTP_STATUS_SERVICE_UNAVAILABLE, reasons};
}

}  // namespace

Http1Answer answer_admin(const AdminSources& sources, const Http1Request& request) {
  const bool health = request.path == "/healthz";
  const bool ready = request.path == "/readyz";
  if (!health && !ready && request.path != "/metrics") {
    return {HTTP_STATUS_NOT_FOUND, "Here are /healthz, /readyz and /metrics.\n"};
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return {HTTP_STATUS_METHOD_NOT_ALLOWED, "Here are GET and HEAD.\n"};
  }
  // That anything is answered says that the loop turns.
  if (health) return ok();
  if (ready) return readiness(sources);
  return {HTTP_STATUS_OK, sources.metrics(), kMetricsContentType};
}

}  // namespace farport::router
