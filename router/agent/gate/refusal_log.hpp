// What is noted of callers that are refused or ended: counted always, logged and audited within limits, so
// that a flood fills no disk.
#pragma once

#include <string>
#include <string_view>

#include "base/log.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "transport/rate_limited_log.hpp"

namespace farport::router {

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

}  // namespace farport::router
