// StoreSender: sends what the agent keeps to one of the operator's stores, by a command.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "router/agent/api/artifact_requests.hpp"
#include "router/agent/api/recent_requests.hpp"
#include "router/agent/artifacts/artifacts.hpp"
#include "router/agent/gate/audit.hpp"
#include "router/agent/gate/own_caller.hpp"
#include "router/agent/stores/store.hpp"
#include "transport/directory_watch.hpp"
#include "transport/event.hpp"
#include "transport/loop.hpp"

namespace farport::router {

/// How much went to a store since the agent began.
struct StoreCounts {
  std::uint64_t sent = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;
  std::uint64_t waiting = 0;  ///< Of now.
};

/// Sends one artifact at a time: its content, then its description, which is there only if the content is
/// whole. What has failed least often comes first. After a failure everything waits, from 5 s up to 10
/// minutes, but what is new is tried at once.
class StoreSender {
 public:
  /// What it uses of the agent.
  struct Parts {
    std::shared_ptr<const Artifacts> artifacts;
    ArtifactRequests& requests;
    RecentRequests& recent;
    Audit& audit;
  };

  StoreSender(transport::Loop& loop, Log log, std::shared_ptr<Store> store, Parts parts);

  /// Never ends by itself. Waits as long as another agent sends from the same directory to this store.
  transport::Task<void> run();
  /// Waits until everything is sent, unless another agent sends. If something has gone there in the last
  /// `recently`, what fails is tried again; otherwise the store is taken to be away, and each is tried once.
  transport::Task<void> sent_all(transport::Milliseconds recently);
  /// The ids of what is not sent; none if another agent sends.
  transport::Task<std::vector<std::string>> waiting();

  [[nodiscard]] const std::string& name() const { return store_->name(); }
  [[nodiscard]] const StoreCounts& counts() const { return counts_; }

 private:
  using Clock = std::chrono::steady_clock;

  transport::Task<UniqueFd> take_turn();
  transport::Task<std::vector<Artifact>> look();
  [[nodiscard]] std::optional<Artifact> choose(const std::vector<Artifact>& waiting) const;
  transport::Task<void> wait();
  transport::Task<void> try_one(Artifact artifact);
  transport::Task<void> note_failure(std::string id, Error why);
  transport::Task<Result<void>> send(Artifact artifact);
  transport::Task<Result<void>> send_content(Artifact& artifact, AuditEntry& entry);
  transport::Task<Result<void>> pass(StoreUpload& upload, Artifact& artifact, AuditEntry& entry);

  transport::Loop& loop_;
  Log log_;
  std::shared_ptr<Store> store_;
  Parts parts_;
  AnswerAccount account_;
  OwnCaller own_;  ///< The agent sends what it keeps itself: a store may have everything.
  transport::DirectoryWatch watch_;
  transport::Event changed_;  ///< The directory.
  transport::Condition tried_;
  bool has_turn_ = false;
  std::map<std::string, unsigned, std::less<>> failures_;  ///< By the ids of what waits.
  std::set<std::string, std::less<>> waited_;              ///< What waited when a try failed last.
  std::set<std::string, std::less<>> stored_;  ///< What the store has, and no description says so.
  unsigned failures_in_a_row_ = 0;
  Clock::time_point next_try_{};
  std::optional<Clock::time_point> last_sent_;
  StoreCounts counts_;
};

}  // namespace farport::router
