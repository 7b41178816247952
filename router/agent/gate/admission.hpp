// Admission: the first message of a diagnostic connection is read, judged, and let pass or refused.
#pragma once

#include "router/agent/gate/refusal_log.hpp"
#include "router/agent/gate/tool_endpoint.hpp"

namespace farport::router {

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
