// The API's requests for profiles: what a runtime's threads do on the processor.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "router/agent/api/caller_session.hpp"
#include "router/agent/api/profile_file.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/agent/sampler/sampler_process.hpp"

namespace farport::router {

class ProfileRequests {
 public:
  /// `sampler`: null where there is none.
  ProfileRequests(transport::Loop& loop, Registry& registry, std::shared_ptr<const SamplerProcess> sampler,
                  DiagnosticConnections& connections, Audit& audit, Metrics& metrics)
      : loop_(loop),
        registry_(registry),
        sampler_(std::move(sampler)),
        connections_(connections),
        audit_(audit),
        metrics_(metrics) {}

  /// POST /v1/runtimes/{id}/profile. `runtime`: the one that is meant, or why there is none.
  Handled take(Response& response, Route route, const Caller& caller,
               tl::expected<RuntimePtr, Refusal> runtime);

 private:
  Handled sample(Response& response, Route route, RuntimePtr runtime, AuditEntry& entry);
  /// Makes the file that is wanted of the samples, and sends it.
  transport::Task<Result<void>> answer_with(ProfileFile file, transport::FdStream& samples,
                                            transport::Stream& caller, RuntimePtr runtime, AuditEntry& entry);
  /// Counts one more, of all and of this caller's.
  struct Place {
    CountedSlot of_all;
    CountedSlot of_identity;
  };
  [[nodiscard]] tl::expected<Place, Refusal> take_place(const Caller& caller, std::uint32_t seconds);
  [[nodiscard]] tl::expected<SamplingEnds, Refusal> begin(const Runtime& runtime,
                                                          const SamplingRequest& wanted) const;

  transport::Loop& loop_;
  Registry& registry_;
  std::shared_ptr<const SamplerProcess> sampler_;
  DiagnosticConnections& connections_;
  Audit& audit_;
  Metrics& metrics_;
  std::shared_ptr<std::size_t> under_way_ = std::make_shared<std::size_t>(0);
  std::map<std::string, std::shared_ptr<std::size_t>> under_way_of_;  ///< By identity_key().
};

}  // namespace farport::router
