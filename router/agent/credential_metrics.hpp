// What the metrics say of certificates.
#pragma once

#include "router/agent/metrics/metrics_text.hpp"
#include "router/certificates/credential_watch.hpp"

namespace farport::router {

inline void write_metrics(MetricsText& text, const CredentialWatch& credentials) {
  text.family("farport_certificate_expiry_seconds", "gauge",
              "Until the agent's certificate expires; negative when it has.")
      .sample(static_cast<double>(credentials.seconds_left()))
      .family("farport_certificate_reloads_total", "counter",
              "How often new certificate files were taken over.")
      .sample(credentials.reloads())
      .family("farport_certificate_reload_failures_total", "counter",
              "How often new certificate files could not be used.")
      .sample(credentials.failed_reloads());
}

}  // namespace farport::router
