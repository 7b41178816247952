// The API's requests for profiles of the stacks on which a runtime's threads run.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "profile/form.hpp"
#include "router/agent/api/caller_session.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/agent/recordings/recording_requests.hpp"
#include "router/agent/sampler/sampler_process.hpp"

namespace farport::router {

/// A profile as a file, for callers without farport.
struct ProfileFile {
  profile::Form form{};
  std::string content_type;
};

/// The file that the query parameter `format` asks for. Nothing if `word` is empty: the answer is then the
/// samples themselves. Errors: there is no such format.
[[nodiscard]] Result<std::optional<ProfileFile>> profile_file(const std::string& word);

class ProfileRequests {
 public:
  /// `sampler` may be null.
  ProfileRequests(transport::Loop& loop, Registry& registry, std::shared_ptr<const SamplerProcess> sampler,
                  Readers readers, DiagnosticConnections& connections, Audit& audit, Metrics& metrics);

  /// POST /v1/runtimes/{id}/profile. `runtime` is the one that the route names, or why there is none.
  Handled take(Response& response, Route route, const Caller& caller,
               tl::expected<RuntimePtr, Refusal> runtime);

 private:
  Handled sample(Response& response, Route route, RuntimePtr runtime, AuditEntry& entry);
  /// Counts a profile under way, among all and among those of its identity.
  struct Place {
    CountedSlot of_all;
    CountedSlot of_identity;
  };
  /// A sampling that has begun: its samples, and the descriptors that end it.
  struct Samples {
    Samples(transport::Loop& loop, SamplingEnds ends)
        : stream(loop, std::move(ends.samples), "the samples"),
          control(std::move(ends.control)),
          lifeline(std::move(ends.lifeline)) {}
    transport::FdStream stream;
    UniqueFd control;
    Lifeline lifeline;
  };
  transport::Task<tl::expected<std::unique_ptr<Samples>, Refusal>> begin_samples(const Runtime& runtime,
                                                                                 SamplingRequest wanted);
  Handled send_samples(Response& response, SamplingRequest wanted, RuntimePtr runtime, AuditEntry& entry);
  struct FileWanted {
    ReadingRequest reading;
    std::string content_type;
  };
  /// Has a reader make a file of the samples, and sends that.
  Handled send_file(Response& response, SamplingRequest wanted, FileWanted file, RuntimePtr runtime,
                    AuditEntry& entry);
  [[nodiscard]] tl::expected<Place, Refusal> take_place(const Caller& caller, std::uint32_t seconds);
  [[nodiscard]] tl::expected<SamplingEnds, Refusal> begin(const Runtime& runtime,
                                                          const SamplingRequest& wanted) const;

  transport::Loop& loop_;
  Registry& registry_;
  std::shared_ptr<const SamplerProcess> sampler_;
  Readers readers_;
  DiagnosticConnections& connections_;
  Audit& audit_;
  Metrics& metrics_;
  std::size_t at_once_ = 0;           ///< How many profiles may be under way.
  std::uint64_t memory_of_each_ = 0;  ///< For the samples and symbols of one profile, in bytes.
  std::shared_ptr<std::size_t> under_way_ = std::make_shared<std::size_t>(0);
  std::map<std::string, std::shared_ptr<std::size_t>> under_way_of_;  ///< By identity_key().
};

}  // namespace farport::router
