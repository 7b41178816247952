// What the metrics say of certificates.
#pragma once

#include "router/agent/metrics/metrics_text.hpp"
#include "router/certificates/credential_watch.hpp"

namespace farport::router {

inline void write_metrics(MetricsText& text, const CredentialWatch& credentials) {
  text.family("farport_certificate_expiry_timestamp_seconds", "gauge",
              "When the agent's certificate expires, in seconds since 1970.")
      .sample(static_cast<std::uint64_t>(credentials.expires()))
      .family("farport_certificate_reloads_total", "counter",
              "How often new certificate files were taken over.")
      .sample(credentials.reloads())
      .family("farport_certificate_reload_failures_total", "counter",
              "How often new certificate files could not be used.")
      .sample(credentials.failed_reloads());
}

}  // namespace farport::router
