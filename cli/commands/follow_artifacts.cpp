// farport artifacts --follow: receives what agents keep, as it appears.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "cli/commands/artifacts.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/output.hpp"
#include "cli/output/received_artifacts.hpp"
#include "cli/setup/own_directory.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/terminal/table.hpp"
#include "router/mirror/artifact_download.hpp"
#include "router/mirror/mirror.hpp"
#include "router/wire/artifact.hpp"
#include "transport/child_process.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

constexpr transport::Milliseconds kAskEvery{2'000};
/// As long as there is no session with any agent.
constexpr transport::Milliseconds kUntilSession{200};
/// What failed is left alone for this time, and twice as long after each further failure.
constexpr std::chrono::seconds kFirstPause{2};
constexpr std::chrono::seconds kLongestPause{300};

/// Follows the agents, and receives what they keep.
class ArtifactFollower {
 public:
  /// Which runtimes of which agent are wanted, by the user's name for it; all if there are none.
  using Selected = std::map<std::string, std::vector<std::string>>;

  /// All arguments must outlive it.
  ArtifactFollower(transport::Loop& loop, router::Mirror& mirror, std::shared_ptr<ReceivedArtifacts> received,
                   const Selected& selected)
      : loop_(loop), mirror_(mirror), received_(std::move(received)), selected_(selected) {}
  ArtifactFollower(const ArtifactFollower&) = delete;
  ArtifactFollower& operator=(const ArtifactFollower&) = delete;

  /// Never ends by itself. Errors: the directory can't be used any more.
  Task<Result<void>> run();

 private:
  using Clock = std::chrono::steady_clock;
  using Session = std::shared_ptr<router::AgentSession>;
  /// Of what could not be received.
  struct Failure {
    std::string why;  ///< What the user was told.
    std::chrono::seconds pause = kFirstPause;
    Clock::time_point again{};
  };
  Task<Result<void>> receive_from(router::AgentAnswer answer);
  [[nodiscard]] bool is_due(const router::Artifact& artifact, const std::string& remote) const;
  Task<Result<void>> receive(router::Artifact artifact, Session session);
  /// Fills the part. Errors: what comes is wrong, or stops coming, or the system's.
  Task<Result<void>> fill(std::shared_ptr<ArtifactPart> part, std::string id, Session session);
  void note_failure(const std::string& of, const Error& why);

  transport::Loop& loop_;
  router::Mirror& mirror_;
  std::shared_ptr<ReceivedArtifacts> received_;
  const Selected& selected_;
  std::map<std::string, Failure> failures_;  ///< By the artifact's id, or the agent's address.
};

Task<Result<void>> ArtifactFollower::run() {
  for (;;) {
    std::vector<router::AgentAnswer> answers;
    co_await mirror_.ask("/v1/artifacts", answers);
    for (router::AgentAnswer& answer : answers) {
      CO_RETURN_IF_ERROR(co_await receive_from(std::move(answer)));
    }
    for (const router::LinkRow& link : mirror_.links()) {
      if (!link.connected && !link.last_error.empty())
        note_failure(link.agent, Error{"ask", link.agent, link.last_error});
    }
    co_await transport::sleep(loop_, answers.empty() ? kUntilSession : kAskEvery);
  }
}

void ArtifactFollower::note_failure(const std::string& of, const Error& why) {
  Failure& failure = failures_[of];
  failure.again = Clock::now() + failure.pause;
  failure.pause = std::min(2 * failure.pause, kLongestPause);
  const std::string before = std::exchange(failure.why, why.message());
  if (failure.why != before) print_message(failure.why);
}

bool ArtifactFollower::is_due(const router::Artifact& artifact, const std::string& remote) const {
  if (artifact.state == router::Artifact::State::under_way || received_->has(artifact.id)) return false;
  const auto select = selected_.find(remote);
  if (select != selected_.end() && !router::is_selected(select->second, artifact.runtime)) return false;
  const auto failure = failures_.find(artifact.id);
  return failure == failures_.end() || Clock::now() >= failure->second.again;
}

Task<Result<void>> ArtifactFollower::receive_from(router::AgentAnswer answer) {
  Result<std::vector<router::Artifact>> all = tl::unexpected(answer.body ? Error{} : answer.body.error());
  if (answer.body) all = router::artifacts_from_json(*answer.body);
  if (!all) {
    note_failure(answer.agent, all.error());
    co_return Result<void>();
  }
  failures_.erase(answer.agent);
  for (router::Artifact& each : *all) {
    if (!is_due(each, answer.remote)) continue;
    if (!each.only_in.empty()) {
      note_failure(each.id,
                   Error{"receive", each.id,
                         "it was to go straight to the store " + each.only_in + ", and is not kept"});
      continue;
    }
    CO_RETURN_IF_ERROR(co_await receive(std::move(each), answer.session));
  }
  co_return Result<void>();
}

Task<Result<void>> ArtifactFollower::fill(std::shared_ptr<ArtifactPart> part, std::string id,
                                          Session session) {
  router::TakeContent take = [this, part](std::vector<std::byte> bytes) {
    const auto piece = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    return transport::offloaded<Result<void>>(loop_, [part, piece] { return part->append(*piece); });
  };
  CO_RETURN_IF_ERROR(
      co_await router::download_artifact(std::move(session), std::move(id), part->size(), std::move(take)));
  // Named: GCC 12 destroys what a lambda in a co_await holds twice.
  std::function<Result<void>()> end = [part] { return part->end(); };
  auto ended = co_await transport::offloaded(loop_, std::move(end));
  co_return ended;
}

Task<Result<void>> ArtifactFollower::receive(router::Artifact artifact, Session session) {
  using Part = std::shared_ptr<ArtifactPart>;
  std::function<Result<Part>()> begin = [received = received_, artifact]() -> Result<Part> {
    ASSIGN_OR_RETURN(auto part, received->begin(artifact));
    return Part(std::move(part));
  };
  CO_ASSIGN_OR_RETURN(const Part part, co_await transport::offloaded(loop_, std::move(begin)));
  const Result<void> filled = co_await fill(part, artifact.id, std::move(session));
  // The agent or the network may do better next time; a full disk here does not.
  if (part->refused()) co_return tl::unexpected(*part->refused());
  if (!filled) {
    note_failure(artifact.id, filled.error());
    co_return Result<void>();
  }
  failures_.erase(artifact.id);
  std::function<Result<std::string>()> keep = [received = received_, artifact] {
    return received->keep(artifact);
  };
  CO_ASSIGN_OR_RETURN(const std::string path, co_await transport::offloaded(loop_, std::move(keep)));
  co_return print_path(path);
}

Task<Result<void>> follow_until(router::Mirror& mirror, ArtifactFollower& follower,
                                transport::StopSource& stop) {
  CO_RETURN_IF_ERROR(co_await mirror.start());
  const auto ended = co_await first_of(follower.run(), stop.wait());
  co_await first_of(mirror.leave(), stop.again());
  co_return ended ? *ended : Result<void>();
}

}  // namespace

int follow_artifacts(const config::ArtifactsSettings& settings) {
  ASSIGN_OR_REPORT(auto received, ReceivedArtifacts::open(settings.follow));
  ASSIGN_OR_REPORT(auto agents, agents_of(settings.remotes), kUsage);
  ASSIGN_OR_REPORT(const auto directory, make_private_directory());
  ASSIGN_OR_REPORT(const auto silent, make_log("off", "text"));
  ArtifactFollower::Selected selected;
  for (const router::MirroredAgent& agent : agents) selected[agent.remote] = agent.select;
  transport::Loop loop;
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  router::MirrorSettings mirror_settings{std::move(agents), directory->path()};
  mirror_settings.session = session_options(settings.session);
  mirror_settings.agents_only = true;
  router::Mirror mirror(loop, silent, std::move(mirror_settings));
  ArtifactFollower follower(loop, mirror, std::move(received), selected);
  const Result<void> ended = loop.run(follow_until(mirror, follower, stop));
  return ended ? kSuccess : report(ended.error());
}

}  // namespace farport::cli
