// farport artifacts --follow: receives what agents keep, as it appears.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
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
#include "router/mirror/agent_session.hpp"
#include "router/mirror/artifact_download.hpp"
#include "router/mirror/mirror.hpp"
#include "router/wire/artifact.hpp"
#include "transport/child_process.hpp"
#include "transport/event.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

constexpr transport::Milliseconds kAskEvery{2'000};
/// What an agent keeps at once is asked for at once.
constexpr transport::Milliseconds kUntilSettled{100};
/// As long as there is no session with any agent.
constexpr transport::Milliseconds kUntilSession{200};
/// What failed is left alone for this time, and twice as long after each further failure.
constexpr std::chrono::seconds kFirstPause{2};
constexpr std::chrono::seconds kLongestPause{300};

using Session = std::shared_ptr<router::AgentSession>;

/// What one agent says of its artifacts. An agent that stops waits until this object is gone.
class AgentNews {
 public:
  /// Calls `on_news` when there may be something new, or the agent stops.
  AgentNews(transport::Loop& loop, Session session, std::function<void()> on_news)
      : session_(std::move(session)), on_news_(std::move(on_news)), listening_(loop) {
    listening_.spawn(listen());
  }
  AgentNews(const AgentNews&) = delete;
  AgentNews& operator=(const AgentNews&) = delete;

  [[nodiscard]] bool is_stopping() const { return is_stopping_; }

 private:
  Task<void> listen() {
    const auto answer = co_await session_->ask("GET", "/v1/artifacts?watch=true");
    if (!answer) co_return;
    router::AnswerLines lines(**answer);
    for (;;) {
      const std::optional<std::string> line = co_await lines.next();
      // An older agent sends the list, and no events.
      const auto event = router::artifact_event_from_json(line.value_or(""));
      if (!event) co_return;
      is_stopping_ = is_stopping_ || *event == router::ArtifactEvent::stopping;
      on_news_();
    }
  }

  Session session_;
  std::function<void()> on_news_;
  bool is_stopping_ = false;
  transport::TaskSet listening_;
};

/// Follows the agents, and receives what they keep.
class ArtifactFollower {
 public:
  /// Which runtimes of which agent are wanted, by the user's name for it; all if there are none.
  using Selected = std::map<std::string, std::vector<std::string>>;

  /// All arguments must outlive it.
  ArtifactFollower(transport::Loop& loop, router::Mirror& mirror, std::shared_ptr<ReceivedArtifacts> received,
                   const Selected& selected)
      : loop_(loop), mirror_(mirror), received_(std::move(received)), selected_(selected), has_news_(loop) {}
  ArtifactFollower(const ArtifactFollower&) = delete;
  ArtifactFollower& operator=(const ArtifactFollower&) = delete;

  /// Never ends by itself. Errors: the directory can't be used any more.
  Task<Result<void>> run();

 private:
  using Clock = std::chrono::steady_clock;
  /// Of what could not be received.
  struct Failure {
    std::string why;  ///< What the user was told.
    std::chrono::seconds pause = kFirstPause;
    Clock::time_point again{};
  };
  /// Returns whether there is more to come: the agent is still taking something, or a failure is to be tried
  /// again.
  Task<Result<bool>> receive_from(router::AgentAnswer answer);
  /// Has each agent say when there is something new.
  void listen_to(const std::set<Session>& wanted);
  [[nodiscard]] bool is_due(const router::Artifact& artifact, const std::string& remote) const;
  Task<Result<void>> receive(router::Artifact artifact, Session session);
  /// Fills the part. Errors: what comes is wrong, or stops coming, or the system's.
  Task<Result<void>> fill(std::shared_ptr<ArtifactPart> part, std::string id, Session session);
  void note_failure(const std::string& of, const Error& why);
  /// Those that stop, and wait until they are listened to no more.
  [[nodiscard]] std::set<Session> stopping_agents() const;

  transport::Loop& loop_;
  router::Mirror& mirror_;
  std::shared_ptr<ReceivedArtifacts> received_;
  const Selected& selected_;
  std::map<std::string, Failure> failures_;  ///< By the artifact's id, or the agent's address.
  transport::Event has_news_;
  std::map<Session, std::unique_ptr<AgentNews>> news_;
};

Task<Result<void>> ArtifactFollower::run() {
  for (;;) {
    std::vector<router::AgentAnswer> answers;
    const std::set<Session> stopping = stopping_agents();
    co_await mirror_.ask("/v1/artifacts", answers);
    std::set<Session> wanted;
    for (router::AgentAnswer& answer : answers) {
      const Session session = answer.session;
      CO_ASSIGN_OR_RETURN(const bool has_more, co_await receive_from(std::move(answer)));
      if (has_more || !stopping.contains(session)) wanted.insert(session);
    }
    listen_to(wanted);
    for (const router::LinkRow& link : mirror_.links()) {
      if (!link.connected && !link.last_error.empty())
        note_failure(link.agent, Error{"ask", link.agent, link.last_error});
    }
    co_await with_deadline(loop_, has_news_.wait(), answers.empty() ? kUntilSession : kAskEvery);
    co_await transport::sleep(loop_, kUntilSettled);
  }
}

std::set<Session> ArtifactFollower::stopping_agents() const {
  std::set<Session> all;
  for (const auto& [session, news] : news_)
    if (news->is_stopping()) all.insert(session);
  return all;
}

void ArtifactFollower::listen_to(const std::set<Session>& wanted) {
  std::erase_if(news_, [&wanted](const auto& each) { return !wanted.contains(each.first); });
  for (const Session& session : wanted) {
    auto& news = news_[session];
    if (news == nullptr) news = std::make_unique<AgentNews>(loop_, session, [this] { has_news_.set(); });
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

Task<Result<bool>> ArtifactFollower::receive_from(router::AgentAnswer answer) {
  Result<std::vector<router::Artifact>> all = tl::unexpected(answer.body ? Error{} : answer.body.error());
  if (answer.body) all = router::artifacts_from_json(*answer.body);
  if (!all) {
    note_failure(answer.agent, all.error());
    co_return false;
  }
  failures_.erase(answer.agent);
  bool has_more = false;
  for (router::Artifact& each : *all) {
    has_more = has_more || each.state == router::Artifact::State::under_way;
    if (!is_due(each, answer.remote)) {
      has_more = has_more || (failures_.contains(each.id) && each.only_in.empty());
      continue;
    }
    if (!each.only_in.empty()) {
      note_failure(each.id,
                   Error{"receive", each.id,
                         "it was to go straight to the store " + each.only_in + ", and is not kept"});
      continue;
    }
    const std::string id = each.id;
    CO_RETURN_IF_ERROR(co_await receive(std::move(each), answer.session));
    has_more = has_more || failures_.contains(id);
  }
  co_return has_more;
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
