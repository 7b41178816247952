// Admission: reads the first message of a diagnostic connection, and lets it pass or refuses it.
#pragma once

#include <string>
#include <string_view>

#include "base/log.hpp"
#include "ipc/message.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/session_options.hpp"
#include "transport/rate_limited_log.hpp"
#include "transport/stream.hpp"

namespace farport::router {

/// The arguments of a command that the audit records, as a JSON object: a trace's providers, a dump's type, a
/// variable's name, a profiler's path. Never a variable's value nor a provider's filter, which may hold
/// secrets. Empty for a command without arguments; {"unreadable":…} where the payload can't be decoded.
[[nodiscard]] std::string audit_arguments(ipc::Command command, ipc::BytesView payload);

/// Counts, logs and audits callers that are refused or ended. It counts all of them, and rate-limits the log
/// and the audit, so that a flood does not fill the disk.
class RefusalLog {
 public:
  RefusalLog(Log log, transport::RateLimitedLog& warnings, Audit& audit, Metrics& metrics)
      : log_(std::move(log)), warnings_(warnings), audit_(audit), metrics_(metrics) {}
  RefusalLog(const RefusalLog&) = delete;
  RefusalLog& operator=(const RefusalLog&) = delete;

  /// A caller has reached a limit. Logged and audited once a minute for each limit and identity. Returns what
  /// to tell the caller.
  Refusal limit_reached(const Caller& caller, const LimitExceeded& exceeded);
  /// A session is ended because of a limit. The caller is not told.
  void ended(const Caller& caller, const LimitExceeded& exceeded);
  /// A handshake has failed because of `why`; `kind` is the value of the metric's label. Logged and audited
  /// at most ten times a minute for each host and cause.
  void handshake_failed(const Caller& caller, const std::string& why, std::string_view kind);
  /// A request or command is refused. Logged at most ten times a minute for each identity. `what` is for
  /// example "GET /v1/agent".
  void refused(const Caller& caller, const std::string& what, const std::string& why);
  /// A caller has no grant at all. Logged and audited at most ten times a minute for each identity. Returns
  /// what to tell the caller.
  Refusal no_role(const Caller& caller);
  /// A session is ended because its certificate is no longer trusted.
  void distrusted(const Caller& caller, const Error& why);

 private:
  void audit(std::string_view event, const Caller& caller, std::string why);

  Log log_;
  transport::RateLimitedLog& warnings_;
  Audit& audit_;
  Metrics& metrics_;
};

/// The tool's end of a diagnostic connection at the agent, whichever way it came in.
class ToolEndpoint {
 public:
  [[nodiscard]] virtual transport::Stream& stream() = 0;
  /// Whether the tool wants its bytes as zstd, if the agent compresses in this mode.
  [[nodiscard]] virtual bool wants_zstd(Compression) const { return false; }
  /// Says that the runtime has answered: what is written to the stream from now on is the runtime's answer,
  /// compressed if `as_zstd`.
  virtual void accept(bool as_zstd) = 0;
  /// Lets refuse() send its reason as text. Called for GenerateCoreDump3, the only command whose IPC error
  /// has room for one.
  virtual void enable_error_text() {}
  /// Tells the tool that its connection is refused, and why.
  virtual transport::Task<void> refuse(Refusal refusal) = 0;

 protected:
  ~ToolEndpoint() = default;
};

class Admission {
 public:
  Admission(const auth::LimitSettings& limits, RefusalLog& refusals, Audit& audit, Metrics& metrics)
      : limits_(limits), refusals_(refusals), audit_(audit), metrics_(metrics) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  /// Reads the first message and authorizes it. Returns it if the runtime is known, the message came in time,
  /// could be decoded and is allowed. Otherwise returns nothing: the tool has been refused and the audit
  /// entry written. `unknown` says why there is no runtime; it is null if entry.runtime is set. Fills in the
  /// entry's command, arguments and grant. `counted`: see read_first_message().
  transport::Task<std::optional<FirstMessage>> admit(AuditEntry& entry, ToolEndpoint& tool,
                                                     const Refusal* unknown,
                                                     transport::BufferBudget::LazyReservation& counted);

 private:
  transport::Task<Result<FirstMessage>> read_in_time(transport::Stream& stream,
                                                     transport::BufferBudget::LazyReservation& counted);
  [[nodiscard]] Refusal refusal_of(const Error& unreadable);
  transport::Task<void> refuse(AuditEntry& entry, ToolEndpoint& tool, Refusal refusal);

  const auth::LimitSettings& limits_;
  RefusalLog& refusals_;
  Audit& audit_;
  Metrics& metrics_;
};

}  // namespace farport::router
