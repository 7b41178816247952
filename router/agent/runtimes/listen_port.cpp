#include "router/agent/runtimes/listen_port.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <unistd.h>

#include "base/process_stat.hpp"
#include "ipc/message.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "transport/child_process.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::Milliseconds;
using transport::Task;

/// A runtime binds its socket a moment before it listens, so a new file gets these retries before it counts
/// as unusable.
constexpr std::array kFirstTries{Milliseconds{1},   Milliseconds{4},   Milliseconds{20},
                                 Milliseconds{100}, Milliseconds{300}, Milliseconds{600}};
/// How often to ask a runtime whose process is not visible whether it still lives.
constexpr Milliseconds kLifeSign{800};

/// A runtime that answers later than this counts as late.
constexpr std::chrono::seconds kPrompt{1};

/// A younger process may still be starting.
constexpr Milliseconds kYoung{10'000};

constexpr Cause kKnowsNotWho = Cause::runtime(ipc::hresult::kUnknownCommand);

/// How long to wait while a runtime's backlog is full.
constexpr Milliseconds kConnectLimit{5000};

DiscoveryIssue issue_of(const Error& error) {
  if (error.cause == ECONNREFUSED) return DiscoveryIssue::stale_socket;
  const bool forbidden = error.cause == EPERM || error.cause == EACCES;
  return forbidden ? DiscoveryIssue::foreign_socket : DiscoveryIssue::silent_runtime;
}

}  // namespace

Task<Result<std::unique_ptr<FdStream>>> connect_to_port(transport::Loop& loop, std::string path,
                                                        std::shared_ptr<const OpenedSocket> opened) {
  const std::string here = opened == nullptr ? path : "/proc/self/fd/" + std::to_string(opened->fd.get());
  CO_ASSIGN_OR_RETURN(const auto file,
                      opened == nullptr ? inspect_socket(path) : inspect_socket(opened->fd, path));
  CO_RETURN_IF_ERROR(check_owner(path, file.owner));
  auto connection = co_await transport::connect_unix(loop, here, kConnectLimit, path);
  if (!connection && connection.error().cause == EACCES) {
    connection.error().hint =
        "run farport as " + user_text(file.owner) + ", or as root with the capability CAP_DAC_OVERRIDE";
  }
  if (!connection) co_return tl::unexpected(connection.error());
  CO_ASSIGN_OR_RETURN(const auto peer, transport::peer_credentials(**connection));
  if (peer.uid != file.owner) {
    co_return tl::unexpected(
        Error{"use the socket", path,
              "a process of " + user_text(peer.uid) + " listens on a file of " + user_text(file.owner),
              "find out who made it", Cause(EPERM)});
  }
  if (opened != nullptr && peer.pid != opened->process) {
    co_return tl::unexpected(Error{"use the socket",
                                   path,
                                   "process " + std::to_string(peer.pid) + " listens on it instead of " +
                                       std::to_string(opened->process),
                                   {},
                                   Cause(ESRCH)});
  }
  co_return connection;
}

struct ListenPort::Contact {
  Runtime runtime;
  UniqueFd pidfd;  ///< Of the process that listens; empty if that is not visible here.
};

ListenPort::ListenPort(transport::Loop& loop, Registry& registry, Log log, const FoundSocket& found,
                       ProbeSlots& slots, ReportPort report, Milliseconds retry)
    : loop_(loop),
      registry_(registry),
      log_(std::move(log)),
      path_(found.path),
      name_(found.name),
      owner_(found.file.owner),
      opened_(found.opened),
      container_(found.container),
      slots_(slots),
      report_(std::move(report)),
      retry_(retry) {}

Task<DiagnosticPort::Connection> ListenPort::open() {
  return connect_to_port(loop_, path_, opened_);
}

Task<ListenPort::Connection> ListenPort::open_for_probing() {
  ProbeSlots::Slot slot = co_await slots_.take(owner_);
  auto connection = co_await connect_to_port(loop_, path_, opened_);
  if (connection) (*connection)->keep(std::move(slot));
  co_return connection;
}

Task<void> ListenPort::follow() {
  for (std::size_t failures = 0;;) {
    Result<Contact> contact = co_await make_contact();
    // Keep the stand-in until the runtime answers: tools may be waiting for that answer through it.
    const bool waits = !contact && issue_of(contact.error()) == DiscoveryIssue::silent_runtime;
    if (!waits) provisional_.reset();
    listed_ = provisional_ != nullptr;
    if (!contact && contact.error().cause == ESRCH) {
      log_->debug("{}", contact.error().message());
      co_return;
    }
    if (!contact) {
      const bool early = failures < kFirstTries.size();
      if (!early) report(issue_of(contact.error()), contact.error());
      co_await transport::sleep(loop_, early ? kFirstTries[failures] : retry_);
      ++failures;
      continue;
    }
    Runtime runtime = std::move(contact->runtime);
    add_names(runtime);
    // Don't keep a copy of the whole Runtime: its command line may be long, and the registry has it.
    const std::string id = runtime.id;
    const std::string version = runtime.version;
    const std::string name = runtime.name;
    const std::uint64_t pid = runtime.pid;
    {
      const auto entry = registry_.add(std::move(runtime), *this, !name_.empty());
      if (!entry) {
        report(DiscoveryIssue::other, entry.error());
        co_await transport::sleep(loop_, retry_);
        continue;
      }
      if (!provisional_id_.empty() && provisional_id_ != id) (*entry)->add_alias(provisional_id_);
      log_->info("found {} (pid {}, .NET {}) at {}", name, pid, version, path_);
      listed_ = true;
      was_listed_ = true;
      problem_.reset();
      co_await until_ended(std::move(contact->pidfd), id);
    }
    listed_ = false;
    log_->info("{} (pid {}) has ended", name, pid);
    reported_.clear();
    failures = kFirstTries.size();
  }
}

Task<Result<ListenPort::Contact>> ListenPort::make_contact() {
  const OpenPort open = [this] { return open_for_probing(); };
  CO_ASSIGN_OR_RETURN(auto connection, co_await open());
  CO_ASSIGN_OR_RETURN(const auto peer, transport::peer_credentials(*connection));
  Contact contact;
  contact.pidfd = transport::open_pidfd(peer.pid);
  process_ = peer;
  const std::uint64_t before = std::exchange(process_start_, transport::start_time_of(process_.pid));
  if (process_start_ != before) {
    provisional_.reset();
    provisional_id_.clear();
  }
  Task<void> late = list_provisionally();
  late.start();
  Result<Runtime> runtime = co_await introduce(loop_, open, path_, std::move(connection));
  late.reset();
  // .NET Core 3.1 does not know the command that says who it is.
  if (!runtime && process_start_ != 0 && runtime.error().cause == kKnowsNotWho)
    runtime = co_await runtime_by_process(loop_, process_.pid, process_start_);
  if (!runtime) co_return tl::unexpected(runtime.error());
  contact.runtime = std::move(*runtime);
  co_return contact;
}

/// Lists the runtime by what is known of its process if it does not answer in time: people want to see a
/// silent runtime.
Task<void> ListenPort::list_provisionally() {
  if (process_start_ == 0 || provisional_ != nullptr) co_return;
  const auto age =
      std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now() - time_at(process_start_));
  co_await transport::sleep(loop_, std::max(Milliseconds(kPrompt), kYoung - age));
  Runtime runtime = co_await runtime_by_process(loop_, process_.pid, process_start_);
  runtime.halt = Halt::silent;
  add_names(runtime);
  provisional_id_ = runtime.id;
  auto entry = registry_.add(std::move(runtime), *this, !name_.empty());
  if (!entry) co_return;
  const auto stat = process_stat(process_.pid);
  if (stat && stat->is_stopped()) registry_.set_halt(provisional_id_, Halt::stopped);
  provisional_ = std::move(*entry);
  listed_ = true;
}

void ListenPort::add_names(Runtime& runtime) const {
  if (!name_.empty()) runtime.name = name_;
  runtime.container = container_;
}

Task<void> ListenPort::until_ended(UniqueFd pidfd, std::string id) {
  if (pidfd) {
    co_await transport::process_exit(loop_, std::move(pidfd));
    co_return;
  }
  const OpenPort reopen = [this] { return open_for_probing(); };
  for (;;) {
    co_await transport::sleep(loop_, kLifeSign);
    const Result<Runtime> now = co_await probe(reopen, path_, nullptr);
    // A busy runtime still lives. Only a refused connection, or another runtime, shows that this one has
    // ended.
    const bool refused = !now && (now.error().cause == ECONNREFUSED || now.error().cause == ENOENT);
    if (refused || (now && now->id != id)) co_return;
  }
}

std::optional<DiscoveryProblem> ListenPort::problem_or_delay() const {
  if (problem_ || listed_ || was_listed_ || std::chrono::steady_clock::now() - since_ < kPrompt)
    return problem_;
  return DiscoveryProblem{DiscoveryIssue::silent_runtime, path_, owner_,
                          "what listens there has not answered yet",
                          "is something else holding its diagnostics?"};
}

void ListenPort::report(DiscoveryIssue issue, const Error& error) {
  std::string message = error.message();
  problem_ = problem_of(issue, owner_, error);
  problem_->about = path_;
  if (issue == DiscoveryIssue::stale_socket) {
    message = "the socket " + path_ + " is stale: its process has ended without removing it; remove the file";
    problem_->why = "it is stale: its process has ended without removing it";
    problem_->hint = "start the application, or remove the file";
    // The end of the runtime was logged already, and .NET leaves its socket behind at SIGTERM.
    if (was_listed_) return;
  }
  if (message == reported_) return;
  reported_ = message;
  report_(owner_, message);
}

}  // namespace farport::router
