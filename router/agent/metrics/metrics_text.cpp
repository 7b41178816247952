#include "router/agent/metrics/metrics_text.hpp"

#include <fmt/format.h>

#include "base/descriptors.hpp"
#include "base/process_usage.hpp"
#include "base/version.hpp"
#include "router/agent/gate/limits.hpp"

namespace farport::router {
namespace {

constexpr const char* kCounter = "counter";
constexpr const char* kGauge = "gauge";

void write_process(MetricsText& text, const AgentServices& services) {
  const ProcessUsage usage = process_usage();
  const double up =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - services.started).count();
  text.family("farport_build_info", kGauge, "Which farport this is; always 1.")
      .sample(std::uint64_t{1}, MetricsText::label("version", kVersion))
      .family("farport_uptime_seconds", kGauge, "How long the agent has been running.")
      .sample(up)
      .family("process_cpu_seconds_total", kCounter, "CPU time used, user and system.")
      .sample(usage.cpu_seconds)
      .family("process_resident_memory_bytes", kGauge, "Resident memory.")
      .sample(usage.resident_bytes)
      .family("process_open_fds", kGauge, "Open file descriptors.")
      .sample(std::uint64_t{open_descriptors()})
      .family("process_max_fds", kGauge, "Most file descriptors that may be open.")
      .sample(std::uint64_t{descriptor_limit()});
}

void write_sessions(MetricsText& text, const AgentServices& services) {
  const Metrics& metrics = services.metrics;
  text.family("farport_sessions", kGauge, "Sessions and raw connections that are open.")
      .sample(std::uint64_t{services.limits.sessions()})
      .family("farport_sessions_total", kCounter, "Sessions and raw connections so far.")
      .sample(metrics.sessions)
      .family("farport_handshakes", kGauge, "TLS handshakes under way.")
      .sample(std::uint64_t{services.handshakes.count()})
      .family("farport_handshakes_failed_total", kCounter, "TLS handshakes that failed.")
      .samples("reason", metrics.handshakes_failed)
      .family("farport_requests_total", kCounter, "Requests over HTTP/2.")
      .sample(metrics.requests)
      .family("farport_refused_total", kCounter,
              "What was refused or ended for a limit, or for want of a role.")
      .samples("reason", metrics.refused)
      .sample(services.budget.given_up(), MetricsText::label("reason", "buffered_bytes"))
      .family("farport_accept_pauses_total", kCounter, "Pauses of accepting for want of file descriptors.")
      .sample(metrics.accept_pauses)
      .family("farport_buffered_bytes", kGauge,
              "Bytes that are kept because of peers: sessions, requests, answers, what nobody has taken yet.")
      .sample(services.budget.bytes())
      .family("farport_lines_lost_total", kCounter,
              "Lines of the log and of the audit that nothing took in time.")
      .sample(lost_lines(services.log), MetricsText::label("what", "log"))
      .sample(services.audit.lost(), MetricsText::label("what", "audit"));
}

void write_diagnostics(MetricsText& text, const AgentServices& services) {
  const Metrics& metrics = services.metrics;
  const RelayCounts bytes = metrics.traffic.total();
  text.family("farport_diagnostic_connections", kGauge, "Diagnostic connections and dumps that are open.")
      .sample(std::uint64_t{services.limits.connections()})
      .family("farport_commands_total", kCounter, "Commands, and what the gate said to them.")
      .samples("command", metrics.commands_allowed, MetricsText::label("decision", "allowed"))
      .samples("command", metrics.commands_refused, MetricsText::label("decision", "refused"))
      .family("farport_bytes_total", kCounter, "Bytes that diagnostic connections have carried.")
      .sample(bytes.to_runtime, MetricsText::label("direction", "to_runtime"))
      .sample(bytes.to_tool, MetricsText::label("direction", "to_tool"))
      .family("farport_dumps_total", kCounter, "Dumps that callers asked for, by how they ended.")
      .samples("outcome", metrics.dumps);
  std::uint64_t suspended = 0;
  std::uint64_t running = 0;
  for (const Runtime& runtime : services.registry.all([](const Runtime&) { return true; })) {
    ++(runtime.state == RuntimeState::suspended ? suspended : running);
  }
  text.family("farport_runtimes", kGauge, "Runtimes that the agent offers.")
      .sample(running, MetricsText::label("state", "running"))
      .sample(suspended, MetricsText::label("state", "suspended"));
}

void write_resumption(MetricsText& text, const AgentServices& services) {
  text.family("farport_connections_waiting", kGauge, "Diagnostic connections that wait for their mirror.")
      .sample(std::uint64_t{services.resumption.waiting()})
      .family("farport_connections_resumed_total", kCounter,
              "Diagnostic connections that another session took over.")
      .sample(services.resumption.resumed())
      .family("farport_connections_given_up_total", kCounter,
              "Diagnostic connections whose mirror did not come back in time.")
      .sample(services.resumption.given_up())
      .family("farport_tracing_sessions_abandoned_total", kCounter,
              "Runtimes' sessions that were stopped since nobody read them any more.")
      .sample(services.tracing.abandoned());
}

void write_limits(MetricsText& text, const LimitSettings& limits) {
  const auto limit = [&](std::string_view name, std::uint64_t value) {
    text.sample(value, MetricsText::label("limit", name));
  };
  text.family("farport_limit", kGauge, "The limits in force, by their names in the configuration.");
  limit("sessions", limits.sessions);
  limit("sessions_per_identity", limits.sessions_per_identity);
  limit("handshakes", limits.handshakes);
  limit("connections_per_session", limits.connections_per_session);
  limit("connections_per_identity", limits.connections_per_identity);
  limit("requests_per_second", limits.requests_per_second);
  limit("buffered_bytes", limits.buffered_bytes);
}

}  // namespace

MetricsText& MetricsText::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  return *this;
}

void MetricsText::line(const std::string& value, std::string_view labels) {
  text_ += name_;
  if (!labels.empty()) text_ += "{" + std::string(labels) + "}";
  text_ += " " + value + "\n";
}

MetricsText& MetricsText::sample(std::uint64_t value, std::string_view labels) {
  line(std::to_string(value), labels);
  return *this;
}

MetricsText& MetricsText::sample(double value, std::string_view labels) {
  line(fmt::format("{}", value), labels);
  return *this;
}

MetricsText& MetricsText::samples(std::string_view label_name, const LabelledCounter& counter,
                                  std::string_view more_labels) {
  for (const auto& [value, count] : counter.counts()) {
    std::string labels = label(label_name, value);
    if (!more_labels.empty()) labels += "," + std::string(more_labels);
    sample(count, labels);
  }
  return *this;
}

std::string MetricsText::label(std::string_view name, std::string_view value) {
  std::string text = std::string(name) + "=\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text + "\"";
}

std::string metrics_text(const AgentServices& services) {
  MetricsText text;
  write_process(text, services);
  write_sessions(text, services);
  write_diagnostics(text, services);
  write_resumption(text, services);
  write_limits(text, services.limits.settings());
  for (const auto& source : services.metrics.sources) source(text);
  return text.take();
}

}  // namespace farport::router
