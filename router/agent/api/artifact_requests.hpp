// The API's requests about what the agent keeps: GET, POST and DELETE /v1/artifacts
// (docs/developers/wire.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/agent/api/caller_session.hpp"
#include "router/agent/api/followers.hpp"
#include "router/agent/api/kept_response.hpp"
#include "router/agent/api/recent_requests.hpp"
#include "router/agent/artifacts/artifact_list.hpp"
#include "router/agent/artifacts/artifacts.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/wire/artifact.hpp"
#include "transport/directory_watch.hpp"
#include "transport/event.hpp"
#include "transport/loop.hpp"
#include "transport/semaphore.hpp"

namespace farport::router {

/// What the audit says of something that is done with an artifact.
[[nodiscard]] AuditEntry entry_about(const Artifact& artifact, std::string command, const Caller& caller);

class ArtifactRequests {
 public:
  using Clock = std::chrono::steady_clock;

  /// `artifacts` is null if the agent keeps nothing. `on_size` is told the memory that the list takes, in
  /// bytes.
  ArtifactRequests(transport::Loop& loop, Log log, std::shared_ptr<const Artifacts> artifacts,
                   std::vector<std::shared_ptr<Store>> stores, Audit& audit,
                   std::function<void(std::uint64_t)> on_size)
      : loop_(loop),
        artifacts_(artifacts),
        audit_(audit),
        on_size_(std::move(on_size)),
        list_(std::make_shared<ArtifactList>(artifacts)),
        reading_(loop, 1),
        changed_(loop),
        unwatched_(loop),
        followers_(loop),
        kept_(loop, std::move(log), std::move(artifacts), std::move(stores)) {}

  /// GET /v1/artifacts: those that the caller may have. With watch=true a line each time that there may be
  /// something new, and one when the agent is being stopped.
  Handled list(Answer& answer, const Route& route, CallerSession& session);
  /// GET /v1/artifacts/{id}: what is said of one.
  Handled find(Answer& answer, Route route, const Caller& caller);
  /// POST /v1/artifacts/{id}: its content, from `offset` on. `recent` makes that of a crash.
  Handled take(Answer& answer, Route route, const Caller& caller, RecentRequests& recent);
  /// DELETE /v1/artifacts/{id}
  Handled remove(Answer& answer, Route route, const Caller& caller);

  /// Handles a request whose answer something else carries.
  using Handle = std::function<Handled(Response& carrier)>;
  /// Any request that takes something of a runtime, with keep=true: answers with the artifact that its answer
  /// goes into, once that has begun, or soon. `owner` keeps alive what `handle` uses.
  Handled keep(Answer& answer, const Route& route, const Caller& caller, RuntimePtr runtime, Handle handle,
               std::shared_ptr<void> owner);
  /// The same for the agent itself. Returns the artifact once that has begun. `cause` says why it is taken.
  transport::Task<tl::expected<Artifact, Refusal>> begin(transport::MessageHead request, Route route,
                                                         const Caller& caller, RuntimePtr runtime,
                                                         Handle handle, std::shared_ptr<void> owner,
                                                         std::string cause);
  /// Waits until an artifact is not being taken by this agent any more.
  transport::Task<void> ended(std::string id) { return kept_.ended(std::move(id)); }
  /// Breaks off what this agent is taking for an artifact, which is cut then and says why.
  void break_off(const std::string& id, std::string why) { kept_.break_off(id, std::move(why)); }
  /// Sends an artifact's content from `offset` on, without asking whether the receiver may have it. Notes the
  /// outcome in `entry`.
  Handled send(Answer& answer, const FilePlace& place, Artifact artifact, std::uint64_t offset,
               AuditEntry& entry, RecentRequests& recent);
  /// Tells who watches that the agent is being stopped.
  void tell_of_stop();
  /// Waits until nobody watches in this session.
  transport::Task<void> unwatched(const CallerSession& session);
  /// Waits until the caller has begun to watch in this session, and has given that up.
  transport::Task<void> followed(const CallerSession& session);
  [[nodiscard]] Followers& followers() { return followers_; }
  /// Waits until nothing is being kept.
  transport::Task<void> idle() { return kept_.idle(); }
  /// Breaks off what is being kept.
  void end_keeping() { kept_.clear(); }

 private:
  Handled list_once(Answer& answer, const Caller& caller);
  /// What there is now.
  transport::Task<std::shared_ptr<const ListedArtifacts>> listed();
  /// For whom room is made if the caller keeps this.
  transport::Task<RoomFor> room_for(const Caller& caller, const Artifact& wanted);
  Handled watch(Answer& answer, CallerSession& session);
  void watch_directory();
  /// One of a runtime that the caller sees.
  transport::Task<tl::expected<Artifact, Refusal>> find_seen(std::string id, const Caller& caller);
  transport::Task<tl::expected<Artifact, Refusal>> begin_keeping(transport::MessageHead request,
                                                                 Artifact wanted, Handle handle,
                                                                 std::shared_ptr<void> owner,
                                                                 AuditEntry& entry);
  Handled remove_now(const Artifact& artifact);

  transport::Loop& loop_;
  std::shared_ptr<const Artifacts> artifacts_;
  Audit& audit_;
  std::optional<transport::DirectoryWatch> directory_watch_;  ///< From when somebody watches.
  std::uint64_t changes_ = 0;                                 ///< So far, of the directory.
  std::function<void(std::uint64_t)> on_size_;
  std::shared_ptr<ArtifactList> list_;             ///< Of artifacts_.
  std::shared_ptr<const ListedArtifacts> listed_;  ///< As it was read last.
  std::uint64_t listed_changes_ = 0;               ///< changes_ when reading that began.
  Clock::time_point listed_at_{};
  transport::Semaphore reading_;  ///< One reads it for all who wait.
  bool stopping_ = false;
  transport::Condition changed_;  ///< One of both.
  transport::Condition unwatched_;
  Followers followers_;
  KeptAnswers kept_;
};

}  // namespace farport::router
