// What the agent says about itself: GET /v1/agent, GET /v1/metrics (docs/developers/wire.md), and whether it
// is ready (docs/monitoring.md).
#include "base/resources.hpp"
#include "base/version.hpp"
#include "ipc/commands.hpp"
#include "router/agent/agent.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/certificates/credential_watch.hpp"
#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

/// Writes the metrics of the agent's certificates.
inline void write_metrics(MetricsText& text, const CredentialWatch& credentials) {
  text.single("farport_certificate_expiry_timestamp_seconds", kGauge,
              "When the agent's certificate expires, in seconds since 1970.", credentials.expires())
      .single("farport_certificate_reloads_total", kCounter,
              "How often new certificate files were taken over.", credentials.reloads())
      .single("farport_certificate_reload_failures_total", kCounter,
              "How often new certificate files could not be used.", credentials.failed_reloads());
}

}  // namespace

using transport::Task;

namespace {

json object_of(const auth::RuntimeFilter& filter) {
  if (filter.empty()) return "all";
  json object = json::object();
  if (!filter.name.empty()) object["name"] = filter.name;
  if (!filter.command_line.empty()) object["command_line"] = filter.command_line;
  if (!filter.pid.empty()) object["pid"] = filter.pid;
  if (!filter.user.empty()) object["user"] = filter.user;
  return object;
}

json grants_of(const auth::Access& access) {
  json grants = json::array();
  for (const auth::Grant* grant : access.grants()) {
    grants.push_back(
        {{"rule", grant->text}, {"role", grant->role}, {"runtimes", object_of(grant->runtimes)}});
  }
  return grants;
}

json roles_of(const auth::Policy& policy) {
  json roles = json::object();
  for (const auth::Role& role : policy.roles()) roles[role.name] = role.permissions;
  return roles;
}

std::uint64_t value_of(std::uint64_t amount) {
  return amount;
}

/// Seconds.
double value_of(transport::Milliseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// The name of a limit in JSON. A time has its unit instead of "timeout": "idle_seconds".
std::string json_name(const auth::Limit& limit) {
  constexpr std::string_view kTimeout = "_timeout";
  std::string_view name = limit.name();
  if (!std::holds_alternative<auth::LimitedTime>(limit.range)) return std::string(name);
  if (name.ends_with(kTimeout)) name.remove_suffix(kTimeout.size());
  return std::string(name) + "_seconds";
}

json limits_of(const auth::LimitSettings& limits) {
  json object = json::object();
  for (const auth::Limit& limit : auth::kLimits) {
    const auto add = [&](const auto& range) { object[json_name(limit)] = value_of(limits.*range.member); };
    std::visit(add, limit.range);
  }
  return object;
}

/// How much the caller may learn of the host's sockets and processes. They say more than the caller's own
/// runtimes do, so only callers who may take dumps or read environments everywhere learn all.
Disclosure disclosure_for(const auth::Access& access) {
  const bool operates = access.may_everywhere(ipc::name_of(ipc::kGenerateCoreDump3)) ||
                        access.may_everywhere(ipc::name_of(ipc::kProcessEnvironment));
  return operates ? Disclosure::all : Disclosure::counts;
}

/// Writes the limits that share the unit of `Range`.
template <typename Range>
void write_limits(MetricsText& text, const auth::LimitSettings& limits) {
  for (const auth::Limit& limit : auth::kLimits) {
    const auto* range = std::get_if<Range>(&limit.range);
    if (range == nullptr || !limit.in_metrics) continue;
    text.sample(value_of(limits.*range->member), MetricsText::label("limit", limit.name()));
  }
}

void write_limits(MetricsText& text, const auth::LimitSettings& limits) {
  text.family("farport_limit", kGauge, "The limits in force that are numbers, by their configured names.");
  write_limits<auth::LimitedCount>(text, limits);
  text.family("farport_limit_bytes", kGauge,
              "The limits in force that are sizes, by their configured names.");
  write_limits<auth::LimitedSize>(text, limits);
}

}  // namespace

void Agent::write_stores(MetricsText& text) const {
  if (senders_.empty()) return;
  const auto write = [&](std::string_view name, std::string_view type, std::string_view help,
                         std::uint64_t StoreCounts::*count) {
    text.family(name, type, help);
    for (const auto& each : senders_)
      text.sample(each->counts().*count, MetricsText::label("store", each->name()));
  };
  write("farport_egress_sent_total", kCounter, "Artifacts that a store has taken.", &StoreCounts::sent);
  write("farport_egress_failures_total", kCounter, "Tries to send an artifact that failed.",
        &StoreCounts::failed);
  write("farport_egress_bytes_total", kCounter, "Bytes of contents that a store has taken.",
        &StoreCounts::bytes);
  write("farport_egress_waiting", kGauge, "Artifacts that are still to be sent to a store.",
        &StoreCounts::waiting);
}

void Agent::write_rules(MetricsText& text) const {
  if (!rules_) return;
  const auto write = [&](std::string_view name, std::string_view help, std::uint64_t RuleCounts::*count) {
    text.family(name, kCounter, help);
    for (const auto& [rule, counts] : rules_->counts())
      text.sample(counts.*count, MetricsText::label("rule", rule));
  };
  write("farport_rule_firings_total", "How often a rule has fired.", &RuleCounts::fired);
  write("farport_rule_failures_total", "Firings for which not all was taken.", &RuleCounts::failed);
}

std::string Agent::describe(const Caller& caller) const {
  const auto up = std::chrono::steady_clock::now() - started_;
  const json response = {
      {"version", kVersion},
      {"host", registry_.host()},
      {"uptime_seconds", std::chrono::duration_cast<std::chrono::seconds>(up).count()},
      {"identity", auth::describe(*caller.identity)},
      {"grants", grants_of(*caller.access)},
      {"roles", roles_of(policy_)},
      {"limits", limits_of(settings_.limits)},
      {"discovery", json::parse(to_json(discovery_.findings(), disclosure_for(*caller.access)))}};
  return text_of(response);
}

Task<std::string> Agent::examine(const Caller& caller, Examine what, transport::Share& share) {
  const Disclosure disclosure = disclosure_for(*caller.access);
  const Registry::Filter seen = [&caller](const Runtime& runtime) { return caller.sees(runtime); };
  DoctorAnswer answer{std::string(kVersion), 0, {}};
  co_await discovery_.look_for_unserved();
  if (what == Examine::search) {
    answer.diagnoses = doctor_.examine_search(seen, disclosure);
  } else {
    answer.diagnoses = co_await doctor_.examine(seen, disclosure, share);
  }
  if (what == Examine::all && readers_.process != nullptr && !readers_.running()) {
    answer.diagnoses.push_back(
        {std::string(step::kAnswer),
         {Finding::Level::warning,
          "the agent's process that starts readers has ended: by HTTP there are no "
          "counters, logs, exceptions, stacks, heaps and profiles as files, and there is no --app-metrics",
          "start the agent again"}});
  }
  const transport::Work work(share);
  answer.time = std::time(nullptr);
  co_return to_json(answer);
}

void Agent::write_process(MetricsText& text) const {
  const ProcessUsage usage = process_usage();
  text.family("farport_build_info", kGauge, "The version of farport, as a label; always 1.")
      .sample(std::uint64_t{1}, MetricsText::label("version", kVersion))
      .single("farport_ready", kGauge, "1 while the agent is ready (/readyz), else 0.",
              why_not_ready().empty())
      .histogram("farport_loop_stall_seconds",
                 "Durations of event loop iterations: everything else waits that long.", loop_.stalls())
      .single("process_start_time_seconds", kGauge, "When the agent started, in seconds since 1970.",
              start_time_)
      .single("process_cpu_seconds_total", kCounter, "CPU time used, user and system.", usage.cpu_seconds)
      .single("process_resident_memory_bytes", kGauge, "Resident memory.", usage.resident_bytes)
      .single("process_open_fds", kGauge, "Open file descriptors.", open_descriptors())
      .single("process_max_fds", kGauge, "Most file descriptors that may be open.", descriptor_limit());
}

void Agent::write_sessions(MetricsText& text) const {
  text.single("farport_sessions", kGauge, "Sessions and raw connections that are open.", limits_.sessions())
      .single("farport_sessions_total", kCounter, "Sessions and raw connections so far.", metrics_.sessions)
      .histogram("farport_session_duration_seconds", "How long sessions and raw connections lasted.",
                 metrics_.session_times)
      .single("farport_handshakes", kGauge, "TLS handshakes under way.", handshakes_.count())
      .family("farport_handshakes_failed_total", kCounter, "TLS handshakes that failed.")
      .samples("reason", metrics_.handshakes_failed)
      .single("farport_requests_total", kCounter, "Requests over HTTP/2.", metrics_.requests)
      .family("farport_refused_total", kCounter,
              "What was refused or ended because of a limit, or because the caller has no role.")
      .samples("reason", metrics_.refused)
      .sample(budget_.given_up(), MetricsText::label("reason", "buffered_bytes"))
      .single("farport_accept_pauses_total", kCounter,
              "How often accepting paused because there were no file descriptors.", metrics_.accept_pauses)
      .single(
          "farport_buffered_bytes", kGauge,
          "Bytes held on behalf of peers: sessions, requests, answers, and data that nobody has read yet.",
          budget_.bytes())
      .family("farport_lines_lost_total", kCounter,
              "Lines of the log and of the audit that were dropped because their reader was too slow.")
      .sample(lost_lines(log_), MetricsText::label("what", "log"))
      .sample(audit_->lost(), MetricsText::label("what", "audit"));
}

void Agent::write_diagnostics(MetricsText& text) const {
  const RelayCounts bytes = metrics_.traffic.total();
  text.single("farport_diagnostic_connections", kGauge,
              "Diagnostic connections, dumps and profiles that are open.", limits_.connections())
      .family("farport_commands_total", kCounter, "Commands, by whether they were allowed.")
      .samples("command", metrics_.commands_allowed, MetricsText::label("decision", "allowed"))
      .samples("command", metrics_.commands_refused, MetricsText::label("decision", "refused"))
      .histogram(
          "farport_first_byte_seconds",
          "From an allowed command to the runtime's first bytes, of diagnostic connections that ended.",
          metrics_.first_bytes)
      .family("farport_bytes_total", kCounter, "Bytes that diagnostic connections have carried.")
      .sample(bytes.to_runtime, MetricsText::label("direction", "to_runtime"))
      .sample(bytes.to_tool, MetricsText::label("direction", "to_tool"))
      .family("farport_dumps_total", kCounter, "Dumps that callers asked for, by how they ended.")
      .samples("outcome", metrics_.dumps);
  text.family("farport_profiles_total", kCounter, "Profiles that callers asked for, by how they ended.")
      .samples("outcome", metrics_.profiles)
      .single("farport_sampler_running", kGauge, "1 while the process that takes profiles runs, else 0.",
              samples())
      .single("farport_reader_running", kGauge, "1 while the process that starts readers runs, else 0.",
              readers_.running());
  std::uint64_t suspended = 0;
  std::uint64_t running = 0;
  for (const RuntimePtr& runtime : registry_.all([](const Runtime&) { return true; })) {
    ++(runtime->state == RuntimeState::suspended ? suspended : running);
  }
  text.family("farport_runtimes", kGauge, "Runtimes that the agent offers.")
      .sample(running, MetricsText::label("state", "running"))
      .sample(suspended, MetricsText::label("state", "suspended"));
}

void Agent::write_recorder(MetricsText& text) const {
  if (!recorder_) return;
  const RecorderTotals totals = recorder_->totals();
  text.single("farport_recorder_runtimes", kGauge, "Runtimes of which something is recorded.",
              totals.runtimes)
      .single("farport_recorder_bytes", kGauge, "Memory of all recordings.", totals.bytes)
      .single("farport_recorder_reach_seconds", kGauge, "How far back the shortest recording goes.",
              totals.reach.count())
      .family("farport_recorder_ended_total", kCounter,
              "Runtimes that have ended, by whether their recording was kept.")
      .sample(totals.kept, MetricsText::label("outcome", "kept"))
      .sample(totals.lost, MetricsText::label("outcome", "lost"));
}

void Agent::write_resumption(MetricsText& text) const {
  text.single("farport_connections_waiting", kGauge, "Diagnostic connections that wait for their mirror.",
              resumption_.waiting())
      .single("farport_connections_resumed_total", kCounter,
              "Diagnostic connections that another session took over.", resumption_.resumed())
      .single("farport_connections_given_up_total", kCounter,
              "Diagnostic connections whose mirror did not come back in time.", resumption_.expired())
      .single("farport_tracing_sessions_abandoned_total", kCounter,
              "Runtimes' sessions that were stopped since nobody read them any more.", tracing_.abandoned());
}

std::vector<std::string> Agent::why_not_ready() const {
  if (stops_ > 0) return {"the agent is being stopped: it takes nothing new"};
  std::vector<std::string> reasons;
  if (accepting_.size() == 0) reasons.emplace_back("the agent does not listen yet");
  if (credentials_ == nullptr) return reasons;
  for (std::string& fault : credentials_->faults(std::time(nullptr))) reasons.push_back(std::move(fault));
  return reasons;
}

std::string Agent::metrics_text() const {
  MetricsText text;
  write_process(text);
  write_sessions(text);
  write_diagnostics(text);
  write_recorder(text);
  write_stores(text);
  write_rules(text);
  write_resumption(text);
  write_limits(text, settings_.limits);
  discovery_.write_metrics(text);
  if (credentials_ != nullptr) write_metrics(text, *credentials_);
  return text.take();
}

}  // namespace farport::router
