// Admission: the first message of a diagnostic connection is read, judged, and let pass or refused.
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

/// What the audit says of a command beside its name.
/// A JSON object with the telling arguments: a trace's providers, a dump's type, a variable's name, a
/// profiler's path. Never a variable's value nor a provider's filter, which may hold secrets. Empty for a
/// command without any; {"unreadable":…} where the payload doesn't fit the command.
[[nodiscard]] std::string telling_arguments(ipc::Command command, ipc::BytesView payload);

// What is noted of callers that are refused or ended: counted always, logged and audited within limits, so
// that a flood fills no disk.

class RefusalLog {
 public:
  RefusalLog(Log log, transport::RateLimitedLog& warnings, Audit& audit, Metrics& metrics)
      : log_(std::move(log)), warnings_(warnings), audit_(audit), metrics_(metrics) {}
  RefusalLog(const RefusalLog&) = delete;
  RefusalLog& operator=(const RefusalLog&) = delete;

  /// A caller has reached a limit: logged and audited once a minute for each limit and identity. Returns what
  /// to tell the caller.
  Refusal limit_reached(const Caller& caller, const LimitExceeded& exceeded);
  /// The same for what is ended rather than refused: nobody is told.
  void ended(const Caller& caller, const LimitExceeded& exceeded);
  /// A handshake has failed for `why`; `kind` is one of Metrics' reasons. Logged and audited at most ten
  /// times a minute for each host and cause.
  void handshake_failed(const Caller& caller, const std::string& why, std::string_view kind);
  /// A request or command is refused: logged ten times a minute for each identity. `what`: "GET /v1/agent".
  void refused(const Caller& caller, const std::string& what, const std::string& why);
  /// A caller has no grant at all: logged and audited ten times a minute for each identity. Returns what to
  /// tell it.
  Refusal no_role(const Caller& caller);
  /// A session is ended since its certificate isn't trusted any more.
  void distrusted(const Caller& caller, const Error& why);

 private:
  void audit(std::string_view event, const Caller& caller, std::string why);

  Log log_;
  transport::RateLimitedLog& warnings_;
  Audit& audit_;
  Metrics& metrics_;
};

// The tool's end of a diagnostic connection, as it comes in to the agent.

class ToolEndpoint {
 public:
  [[nodiscard]] virtual transport::Stream& stream() = 0;
  /// Whether what is sent to it shall be zstd, where the agent compresses in this way.
  [[nodiscard]] virtual bool wants_zstd(Compression) const { return false; }
  /// The runtime has answered: what is written to the stream from now on is its, as zstd if said so.
  virtual void accept(bool as_zstd) = 0;
  /// The command is GenerateCoreDump3, whose IPC error alone has room for words.
  virtual void allow_text() {}
  /// Tells the tool that nothing comes of it.
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

  /// The first message, if there is a runtime for it (entry.runtime), it comes in time, can be read and may
  /// pass; nothing otherwise: the tool has been told then. `unknown`: why there is no runtime; nullptr where
  /// there is one. Fills in what the audit says of the command, and writes the entry where it is refused.
  /// `counted`: see read_first_message().
  transport::Task<std::optional<FirstMessage>> admit(AuditEntry& entry, ToolEndpoint& tool,
                                                     const Refusal* unknown,
                                                     transport::BufferBudget::LateHolding& counted);

 private:
  transport::Task<Result<FirstMessage>> read_in_time(transport::Stream& stream,
                                                     transport::BufferBudget::LateHolding& counted);
  [[nodiscard]] Refusal refusal_of(const Error& unreadable);
  transport::Task<void> refuse(AuditEntry& entry, ToolEndpoint& tool, Refusal refusal);

  const auth::LimitSettings& limits_;
  RefusalLog& refusals_;
  Audit& audit_;
  Metrics& metrics_;
};

}  // namespace farport::router
