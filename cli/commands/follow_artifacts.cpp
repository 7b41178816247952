// farport artifacts --follow: receives what agents keep, as it appears.
#include <algorithm>
#include <cerrno>
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

#include <fmt/format.h>

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
/// How often it is seen whether there are other sessions.
constexpr transport::Milliseconds kLookEvery{1'000};
/// What failed is left alone for this time, and twice as long after each further failure.
constexpr std::chrono::seconds kFirstPause{2};
constexpr std::chrono::seconds kLongestPause{300};
/// An agent that answers nothing for this time, or hardly anything, is slow: it is left alone for a while.
constexpr std::chrono::seconds kSlowAfter{30};
constexpr std::uint64_t kSlowBytes = std::uint64_t{30} << 10;

using Session = std::shared_ptr<router::AgentSession>;

std::string slow_text() {
  return fmt::format("it is slow: less than {} KiB came within {} s", kSlowBytes >> 10, kSlowAfter.count());
}

/// What could not be had of an agent, by the artifact's id, or the agent's address.
class Failures {
 public:
  /// Tells the user, unless that was said before, and has it left alone for a while.
  void note(const std::string& of, const Error& why) {
    if (failures_.size() >= kMost && !failures_.contains(of)) return;
    Failure& failure = failures_[of];
    failure.again = Clock::now() + failure.pause;
    failure.pause = std::min(2 * failure.pause, kLongestPause);
    const std::string before = std::exchange(failure.why, why.message());
    if (failure.why != before) say(failure.why);
  }
  void forget(const std::string& of) { failures_.erase(of); }
  /// Forgets what the agent does not have any more.
  void forget_all_but(const std::set<std::string>& ids) {
    std::erase_if(failures_, [&ids](const auto& each) { return !ids.contains(each.first); });
  }
  /// Whether it is to be left alone as yet.
  [[nodiscard]] bool pauses(const std::string& of) const {
    const auto failure = failures_.find(of);
    return failure != failures_.end() && Clock::now() < failure->second.again;
  }

 private:
  using Clock = std::chrono::steady_clock;
  /// An honest agent keeps no more.
  static constexpr std::size_t kMost = 1000;
  static constexpr std::size_t kSaidAMinute = 30;
  struct Failure {
    std::string why;  ///< What the user was told.
    std::chrono::seconds pause = kFirstPause;
    Clock::time_point again{};
  };

  /// An agent that fails in ever new ways must not fill the terminal.
  void say(const std::string& why) {
    if (Clock::now() - minute_ > std::chrono::minutes(1)) {
      minute_ = Clock::now();
      said_ = 0;
    }
    if (said_++ < kSaidAMinute) print_message(why);
  }

  std::map<std::string, Failure> failures_;
  Clock::time_point minute_{};
  std::size_t said_ = 0;
};

/// What those who follow one agent each have in common.
struct Following {
  std::shared_ptr<ReceivedArtifacts> received;
  std::set<std::string> coming{};  ///< The keys of those that are coming, from whichever agent.
  std::optional<Error> refused{};  ///< Why the directory can't be used any more.
};

/// Notices that hardly anything comes any more.
class SlowWatch {
 public:
  explicit SlowWatch(transport::Loop& loop) : loop_(loop), slow_(loop), watching_(loop) {
    watching_.spawn(watch());
  }
  SlowWatch(const SlowWatch&) = delete;
  SlowWatch& operator=(const SlowWatch&) = delete;

  void came(std::size_t bytes) { came_ += bytes; }
  /// Whether it is us who are slow: the disk.
  void set_writing(bool writing) { is_writing_ = writing; }
  [[nodiscard]] transport::Event& slow() { return slow_; }

 private:
  using Clock = std::chrono::steady_clock;

  Task<void> watch() {
    std::uint64_t before = 0;
    for (Clock::time_point since = Clock::now(); Clock::now() - since < kSlowAfter;) {
      co_await transport::sleep(loop_, kLookEvery);
      if (!is_writing_ && came_ - before < kSlowBytes) continue;
      before = came_;
      since = Clock::now();
    }
    slow_.set();
  }

  transport::Loop& loop_;
  std::uint64_t came_ = 0;
  bool is_writing_ = false;
  transport::Event slow_;
  transport::TaskSet watching_;
};

/// Follows one agent in one session, and receives what it keeps. Let it end by itself: it may be writing.
class AgentFollower {
 public:
  /// `following` and `failures` must outlive it. `select`: which runtimes are wanted; all if it is empty.
  AgentFollower(transport::Loop& loop, Following& following, Failures& failures, router::ConnectedAgent agent,
                std::vector<std::string> select)
      : loop_(loop),
        following_(following),
        failures_(failures),
        agent_(std::move(agent)),
        select_(std::move(select)),
        has_news_(loop),
        listening_(loop),
        tasks_(loop) {
    tasks_.spawn(follow());
  }
  AgentFollower(const AgentFollower&) = delete;
  AgentFollower& operator=(const AgentFollower&) = delete;

  /// The session takes no further requests, or has ended: what is coming is the last.
  void set_last() { is_last_ = true; }
  [[nodiscard]] bool has_ended() const { return has_ended_; }

 private:
  /// Ends after set_last(), or if the directory can't be used any more.
  Task<void> follow();
  /// Has the agent say when there is something new. An agent that stops waits until it is listened to no
  /// more.
  Task<void> listen();
  /// Returns whether there is more to come: the agent is still taking something, or a failure is to be tried
  /// again.
  Task<bool> ask();
  Task<Result<std::vector<router::Artifact>>> list();
  Task<bool> receive_all(std::vector<router::Artifact> all);
  [[nodiscard]] bool is_wanted(const router::Artifact& artifact) const;
  Task<void> receive(router::Artifact artifact);
  Task<Result<std::string>> receive_into(std::shared_ptr<ArtifactPart> part, router::Artifact artifact);
  /// Fills the part. Errors: what comes is wrong, or stops coming, or the system's.
  Task<Result<void>> fill(std::shared_ptr<ArtifactPart> part, std::string id, SlowWatch& watch);
  Task<Result<void>> write(std::function<Result<void>()> what, SlowWatch& watch);

  transport::Loop& loop_;
  Following& following_;
  Failures& failures_;
  router::ConnectedAgent agent_;
  std::vector<std::string> select_;
  bool is_stopping_ = false;
  bool is_last_ = false;
  bool has_ended_ = false;
  transport::Event has_news_;
  transport::TaskSet listening_;
  transport::TaskSet tasks_;
};

Task<void> AgentFollower::follow() {
  // First: an agent that is stopped meanwhile waits for those who listen.
  listening_.spawn(listen());
  while (!is_last_ && !following_.refused) {
    const bool was_stopping = is_stopping_;
    const bool has_more = co_await ask();
    if (was_stopping && !has_more) listening_.clear();
    co_await with_deadline(loop_, has_news_.wait(), kAskEvery);
    co_await transport::sleep(loop_, kUntilSettled);
  }
  has_ended_ = true;
}

Task<void> AgentFollower::listen() {
  const auto answer = co_await agent_.session->ask("GET", "/v1/artifacts?watch=true");
  if (!answer) co_return;
  router::AnswerLines lines(**answer);
  for (;;) {
    const std::optional<std::string> line = co_await lines.next();
    // An older agent sends the list, and no events.
    const auto event = router::artifact_event_from_json(line.value_or(""));
    if (!event) co_return;
    is_stopping_ = is_stopping_ || *event == router::ArtifactEvent::stopping;
    has_news_.set();
  }
}

Task<Result<std::vector<router::Artifact>>> AgentFollower::list() {
  const transport::Deadline late(loop_, kSlowAfter, [this] {
    failures_.note(agent_.agent,
                   Error{"ask", agent_.agent,
                         fmt::format("it is slow: its list has not come within {} s", kSlowAfter.count())});
  });
  CO_ASSIGN_OR_RETURN(const auto answer, co_await router::ask_in(*agent_.session, "GET", "/v1/artifacts"));
  co_return router::artifacts_from_json(answer);
}

Task<bool> AgentFollower::ask() {
  auto all = co_await list();
  if (is_last_) co_return false;
  if (!all) {
    failures_.note(agent_.agent, all.error());
    co_return false;
  }
  const bool has_more = co_await receive_all(std::move(*all));
  co_return has_more;
}

bool AgentFollower::is_wanted(const router::Artifact& artifact) const {
  return !following_.received->has(artifact) && router::is_selected(select_, artifact.runtime);
}

Task<bool> AgentFollower::receive_all(std::vector<router::Artifact> all) {
  std::set<std::string> ids;
  for (const router::Artifact& each : all) ids.insert(each.id);
  failures_.forget_all_but(ids);
  bool has_more = false;
  for (const router::Artifact& each : all) {
    const bool is_under_way = each.state == router::Artifact::State::under_way;
    has_more = has_more || is_under_way;
    if (is_under_way || !is_wanted(each)) continue;
    if (!each.only_in.empty()) {
      failures_.note(each.id,
                     Error{"receive", each.id,
                           "it was to go straight to the store " + each.only_in + ", and is not kept"});
      continue;
    }
    if (!failures_.pauses(each.id)) co_await receive(each);
    if (following_.refused || is_last_) co_return false;
    has_more = has_more || !following_.received->has(each);
  }
  co_return has_more;
}

Task<Result<void>> AgentFollower::fill(std::shared_ptr<ArtifactPart> part, std::string id, SlowWatch& watch) {
  router::TakeContent take = [this, part, &watch](std::vector<std::byte> bytes) {
    watch.came(bytes.size());
    const auto piece = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    return write([part, piece] { return part->append(*piece); }, watch);
  };
  CO_RETURN_IF_ERROR(
      co_await router::download_artifact(agent_.session, std::move(id), part->size(), std::move(take)));
  // Named: GCC 12 destroys what a lambda in a co_await holds twice.
  std::function<Result<void>()> end = [part] { return part->end(); };
  auto ended = co_await write(std::move(end), watch);
  co_return ended;
}

Task<Result<void>> AgentFollower::write(std::function<Result<void>()> what, SlowWatch& watch) {
  watch.set_writing(true);
  auto written = co_await transport::offloaded(loop_, std::move(what));
  watch.set_writing(false);
  co_return written;
}

Task<Result<std::string>> AgentFollower::receive_into(std::shared_ptr<ArtifactPart> part,
                                                      router::Artifact artifact) {
  SlowWatch watch(loop_);
  const auto filled = co_await first_of(fill(part, artifact.id, watch), watch.slow().wait());
  // The agent or the network may do better next time; a full disk here does not.
  if (part->refused()) {
    following_.refused = part->refused();
    co_return tl::unexpected(*part->refused());
  }
  if (!filled) co_return fail("receive", artifact.id + " from " + agent_.agent, slow_text());
  CO_RETURN_IF_ERROR(*filled);
  std::function<Result<std::string>()> keep = [received = following_.received, artifact] {
    return received->keep(artifact);
  };
  auto kept = co_await transport::offloaded(loop_, std::move(keep));
  if (!kept) following_.refused = kept.error();
  co_return kept;
}

Task<void> AgentFollower::receive(router::Artifact artifact) {
  // Several agents may have one directory.
  struct Coming {
    Coming(std::set<std::string>& all, std::string key) : all_(all), key_(std::move(key)) {
      is_only_one_ = all_.insert(key_).second;
    }
    Coming(const Coming&) = delete;
    Coming& operator=(const Coming&) = delete;
    ~Coming() {
      if (is_only_one_) all_.erase(key_);
    }
    std::set<std::string>& all_;
    std::string key_;
    bool is_only_one_ = false;
  } const coming(following_.coming, key_of(artifact));
  if (!coming.is_only_one_) co_return;
  using Part = std::shared_ptr<ArtifactPart>;
  std::function<Result<Part>()> begin = [received = following_.received, artifact,
                                         agent = agent_.agent]() -> Result<Part> {
    ASSIGN_OR_RETURN(auto part, received->begin(artifact, agent));
    return Part(std::move(part));
  };
  const auto part = co_await transport::offloaded(loop_, std::move(begin));
  if (!part) {
    // That of this one alone, and not of the directory.
    const bool is_its_own = part.error().cause == Cause(EEXIST) || part.error().cause == Cause(ENOSPC);
    if (is_its_own) failures_.note(artifact.id, part.error());
    if (!is_its_own) following_.refused = part.error();
    co_return;
  }
  const std::string id = artifact.id;
  const auto path = co_await receive_into(*part, std::move(artifact));
  if (following_.refused) co_return;
  if (!path) {
    // In the next session it is tried again.
    if (!is_last_) failures_.note(id, path.error());
    co_return;
  }
  failures_.forget(id);
  const Result<void> printed = print_path(*path);
  if (!printed) following_.refused = printed.error();
}

/// Follows the agents, each by itself, so that one that is slow holds up no other.
class ArtifactFollower {
 public:
  /// Which runtimes of which agent are wanted, by the user's name for it; all if there are none.
  using Selected = std::map<std::string, std::vector<std::string>>;

  /// All arguments must outlive it.
  ArtifactFollower(transport::Loop& loop, router::Mirror& mirror, std::shared_ptr<ReceivedArtifacts> received,
                   const Selected& selected)
      : loop_(loop), mirror_(mirror), following_{std::move(received)}, selected_(selected) {}
  ArtifactFollower(const ArtifactFollower&) = delete;
  ArtifactFollower& operator=(const ArtifactFollower&) = delete;

  /// Never ends by itself. Errors: the directory can't be used any more.
  Task<Result<void>> run();

 private:
  using Followers = std::map<Session, std::unique_ptr<AgentFollower>>;
  /// Begins with those that are new, and ends with those that are gone.
  void follow(const std::vector<router::ConnectedAgent>& agents, Followers& followers);

  transport::Loop& loop_;
  router::Mirror& mirror_;
  Following following_;
  const Selected& selected_;
  std::map<std::string, Failures> failures_;  ///< By the agent's address.
};

Task<Result<void>> ArtifactFollower::run() {
  Followers followers;
  while (!following_.refused) {
    follow(mirror_.connected(), followers);
    for (const router::LinkRow& link : mirror_.links()) {
      if (!link.connected && !link.last_error.empty())
        failures_[link.agent].note(link.agent, Error{"ask", link.agent, link.last_error});
    }
    co_await with_deadline(loop_, mirror_.changed().wait(), kLookEvery);
  }
  co_return tl::unexpected(*following_.refused);
}

void ArtifactFollower::follow(const std::vector<router::ConnectedAgent>& agents, Followers& followers) {
  std::set<Session> sessions;
  for (const router::ConnectedAgent& each : agents) sessions.insert(each.session);
  for (const auto& [session, follower] : followers) {
    if (!sessions.contains(session)) follower->set_last();
  }
  std::erase_if(followers, [](const auto& each) { return each.second->has_ended(); });
  for (const router::ConnectedAgent& each : agents) {
    auto& follower = followers[each.session];
    if (follower != nullptr) continue;
    const auto known = selected_.find(each.remote);
    auto select = known == selected_.end() ? std::vector<std::string>() : known->second;
    follower =
        std::make_unique<AgentFollower>(loop_, following_, failures_[each.agent], each, std::move(select));
  }
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
