#include "router/agent/runtimes/discovery.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <unistd.h>

#include "base/files.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/share.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

/// How long callers wait for the first look, and how often they check whether it is over.
constexpr Milliseconds kFirstLook{2000};
constexpr Milliseconds kFirstLookStep{10};
/// A scan takes time from other threads, so the next one waits at least this many times as long as it took.
constexpr int kRestsPerScan = 10;
constexpr Milliseconds kMinRest{20};
/// Events from a directory until it is left alone until the next scan, since other users can make any number.
constexpr int kMaxEvents = 1000;
/// Warnings about the sockets of one user.
constexpr std::size_t kWarningsPerMinute = 30;

/// A socket that was found through its process is kept open, in addition to the process's pidfd.
constexpr std::size_t kDescriptorsThroughProcess = 2;

std::vector<std::string> searched_by(const DiscoverySettings& settings) {
  std::vector<std::string> searched = settings.search;
  if (settings.search_processes) searched.emplace_back(kSearchProcesses);
  return searched;
}

}  // namespace

struct Discovery::Followed {
  Followed(SocketFile socket, std::unique_ptr<ListenPort> follows)
      : file(socket), port(std::move(follows)), task(port->follow()) {}

  SocketFile file;
  std::unique_ptr<ListenPort> port;
  Task<void> task;
};

Discovery::Discovery(transport::Loop& loop, Registry& registry, Log log, DiscoverySettings settings)
    : loop_(loop),
      registry_(registry),
      log_(std::move(log)),
      settings_(std::move(settings)),
      shares_(user_shares(settings_.search_processes ? kDescriptorsThroughProcess : 1)),
      slots_(loop, shares_),
      warnings_(loop, log_),
      changed_(loop),
      processes_(loop, registry, log_,
                 {settings_.search, settings_.search_processes, settings_.rescan, settings_.tell_of_others},
                 shares_),
      findings_(searched_by(settings_)) {}

Discovery::~Discovery() = default;

Task<void> Discovery::run() {
  began_ = std::chrono::steady_clock::now();
  Task<void> watching = processes_.run(changed_);
  watching.start();
  for (;;) {
    watch_directories();
    const bool looked = processes_.looked();
    ScanResult result = co_await scan();
    const auto rest = std::chrono::duration_cast<Milliseconds>(result.took) * kRestsPerScan;
    co_await apply(std::move(result));
    scanned_ = scanned_ || looked;
    co_await transport::sleep(loop_, std::max(rest, kMinRest));
    co_await with_deadline(loop_, changed_.wait(), settings_.rescan);
  }
}

Task<void> Discovery::first_look() {
  const auto since = std::chrono::ceil<Milliseconds>(std::chrono::steady_clock::now() - began_);
  // Later sessions get the list as it is: a socket that does not answer delays only the first ones.
  if (since >= kFirstLook) co_return;
  co_await with_deadline(loop_, settle(), kFirstLook - since);
}

Task<void> Discovery::settle() {
  const auto is_over = [this] {
    return scanned_ && std::all_of(followed_.begin(), followed_.end(), [](const auto& each) {
             return each.second->port->listed() || each.second->port->problem();
           });
  };
  while (!is_over()) co_await transport::sleep(loop_, kFirstLookStep);
  // If the list is empty, find out why.
  if (!registry_.processes().empty()) co_return;
  co_await processes_.look_for_unserved();
  while (!processes_.looked_twice()) co_await transport::sleep(loop_, kFirstLookStep);
}

void Discovery::watch_directories() {
  std::map<std::string, std::set<std::string>> wanted;
  for (const std::string& directory : settings_.search) wanted[directory];
  for (const NamedPath& port : settings_.named) wanted[directory_of(port.path)].emplace(file_of(port.path));
  for (const auto& [directory, names] : wanted) {
    WatchedDirectory& watched = watches_[directory];
    watched.events = 0;
    if (watched.watch != nullptr && watched.watch->watches(directory)) continue;
    // If the directory isn't there yet, or its file system sends no events, the rescan finds the changes.
    watched.watch = std::make_unique<transport::DirectoryWatch>(
        loop_, directory, [this, &watched, names](const char* name) { on_event(watched, names, name); });
  }
}

void Discovery::on_event(WatchedDirectory& watched, const std::set<std::string>& names, const char* name) {
  const bool too_many = ++watched.events > kMaxEvents;
  if (too_many) watched.watch->stop();
  // Only files that may be diagnostic ports count, since /tmp is a busy place.
  const bool other = name != nullptr && !is_default_port_name(name) && !names.contains(name);
  if (too_many || !other) changed_.set();
}

Task<ScanResult> Discovery::scan() {
  struct Work {
    SocketScan scan;
    ScanResult result;
  };
  const auto work = std::make_shared<Work>();
  work->scan = {settings_.search, settings_.named, shares_, {}};
  for (const auto& [path, followed] : followed_) {
    if (followed->port->listed()) work->scan.listed.insert(path);
  }
  transport::Offload offload(loop_, [work] { work->result = scan_sockets(work->scan); });
  co_await offload.done();
  co_return std::move(work->result);
}

Task<void> Discovery::apply(ScanResult result) {
  report(result);
  // An incomplete scan says nothing about what is there.
  if (!result.complete) co_return;
  const ProcessWatch::IsFollowed followed = [this](const std::string& path) {
    return followed_.contains(path);
  };
  result.sockets = processes_.with_sockets(std::move(result.sockets), followed);
  std::unordered_set<std::string> present;
  for (const FoundSocket& each : result.sockets) present.insert(each.path);
  transport::TurnBudget budget(loop_);
  for (auto place = followed_.begin(); place != followed_.end();) {
    if (present.contains(place->first)) {
      ++place;
      continue;
    }
    place = followed_.erase(place);
    co_await budget.yield_if_used_up();
  }
  for (const FoundSocket& each : result.sockets) {
    const auto known = followed_.find(each.path);
    if (known != followed_.end() && known->second->file == each.file) continue;
    if (known != followed_.end()) followed_.erase(known);
    follow(each);
    co_await budget.yield_if_used_up();
  }
}

void Discovery::follow(const FoundSocket& found) {
  ReportPort tell = [this](uid_t user, const std::string& message) {
    warnings_.add("sockets of user " + std::to_string(user), message, kWarningsPerMinute);
  };
  auto port =
      std::make_unique<ListenPort>(loop_, registry_, log_, found, slots_, std::move(tell), settings_.rescan);
  auto& followed = followed_[found.path];
  followed = std::make_unique<Followed>(found.file, std::move(port));
  followed->task.start();
}

void Discovery::report(const ScanResult& result) {
  std::map<std::string, std::string> present;
  const auto tell = [&](const std::string& about, uid_t user, const std::string& message) {
    report_once(about, user, message);
    const auto told = reported_.find(about);
    if (told != reported_.end()) present.insert(*told);
  };
  left_out_ = 0;
  std::vector<DiscoveryProblem> problems;
  for (const ScanProblem& problem : result.problems) {
    tell(problem.about, problem.user, problem.error.message());
    problems.push_back(problem_of(problem.issue, problem.user, problem.error));
  }
  findings_.set_scan(std::move(problems));
  for (const auto& [user, count] : result.left_out) {
    left_out_ += count;
    const std::string name = user_text(user);
    tell("sockets of " + name, user,
         name + " has more sockets than the " + std::to_string(shares_.of(user)) +
             " that are followed of one user: the oldest are left out; remove those that are stale, or raise "
             "the limit of open files (LimitNOFILE=)");
  }
  // Forget what isn't wrong any more, so that the map stays as small as the number of present problems.
  reported_ = std::move(present);
}

void Discovery::report_once(const std::string& about, uid_t user, const std::string& message) {
  const auto last = reported_.find(about);
  if (last != reported_.end() && last->second == message) return;
  const bool told = warnings_.add("sockets of user " + std::to_string(user), message, kWarningsPerMinute);
  if (told) reported_[about] = message;
}

Task<void> Discovery::look_for_unserved() {
  co_await with_deadline(loop_, processes_.look_for_unserved(), kFirstLook);
}

DiscoveryReport Discovery::findings() const {
  DiscoveryReport all = findings_;
  all.set_processes(processes_.problems());
  for (const auto& [path, followed] : followed_) {
    if (const auto problem = followed->port->problem_or_delay()) all.set_socket(path, *problem);
  }
  return all;
}

void Discovery::write_metrics(MetricsText& text) const {
  text.family("farport_sockets_followed", "gauge", "Sockets that may be runtimes'.")
      .sample(std::uint64_t{followed_.size()})
      .family("farport_sockets_left_out", "gauge",
              "Sockets that are not followed, since their users have more than their share.")
      .sample(std::uint64_t{left_out_});
}

}  // namespace farport::router
