#include "router/agent/runtimes/connect_port.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ipc/message.hpp"
#include "router/agent/runtimes/probe.hpp"
#include "router/agent/runtimes/user_shares.hpp"
#include "router/sockets/socket_manifest.hpp"
#include "transport/child_process.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::Task;

constexpr std::size_t kMaxWaiting = 4;

/// Whether the peer is still connected and silent. It may neither have closed its end nor sent anything,
/// since it is our turn to speak.
bool is_quiet(const FdStream& connection) {
  char next = 0;
  return ::recv(connection.fd(), &next, sizeof next, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

}  // namespace

struct ConnectionQueue::Waiter : transport::ListNode {
  explicit Waiter(transport::Loop& loop) : served(loop) {}
  std::unique_ptr<FdStream> connection;
  transport::Event served;
};

void ConnectionQueue::add(std::unique_ptr<FdStream> connection) {
  drop_closed();
  if (closed_) return;
  if (auto* waiter = static_cast<Waiter*>(waiters_.pop())) {
    waiter->connection = std::move(connection);
    waiter->served.set();
    return;
  }
  if (waiting_.size() >= kMaxWaiting) waiting_.pop_front();
  waiting_.push_back(std::move(connection));
}

Task<DiagnosticPort::Connection> ConnectionQueue::take(std::shared_ptr<ConnectionQueue> queue) {
  queue->drop_closed();
  if (!queue->waiting_.empty()) {
    auto connection = std::move(queue->waiting_.front());
    queue->waiting_.pop_front();
    co_return queue->acquire(std::move(connection));
  }
  Waiter waiter(queue->loop_);
  if (!queue->closed_) {
    queue->waiters_.push(waiter);
    co_await with_deadline(queue->loop_, waiter.served.wait(), kRedialLimit);
  }
  if (waiter.connection != nullptr) co_return queue->acquire(std::move(waiter.connection));
  if (queue->closed_) co_return fail("reach", queue->name_, "it has ended");
  co_return fail("reach", queue->name_, "it has not dialled in again within 5 s",
                 "wait until it is done with another command, such as a dump");
}

void ConnectionQueue::close() {
  closed_ = true;
  waiting_.clear();
  while (auto* waiter = static_cast<Waiter*>(waiters_.pop())) waiter->served.set();
}

bool ConnectionQueue::alive() {
  drop_closed();
  return !waiting_.empty() || taken_.use_count() > 1;
}

void ConnectionQueue::drop_closed() {
  std::erase_if(waiting_, [](const auto& connection) { return !is_quiet(*connection); });
}

std::unique_ptr<FdStream> ConnectionQueue::acquire(std::unique_ptr<FdStream> connection) {
  connection->keep(taken_);
  return connection;
}

namespace {

using transport::Milliseconds;

/// How long to wait before trying a runtime again that can't be used.
constexpr Milliseconds kRetry{5000};
/// A process closes its connections a moment before its pidfd reports its end.
constexpr Milliseconds kDying{200};
/// A runtime whose process is not visible has ended once it has had no connection for this long.
constexpr std::uint64_t kGoneAfterMs = 2000;
constexpr Milliseconds kLifeLook{500};

}  // namespace

std::string describe(const transport::PeerCredentials& process) {
  const std::string user = user_text(process.uid);
  if (process.pid <= 0) return "a process of " + user + " that is not visible here";
  return "process " + std::to_string(process.pid) + " of " + user;
}

ConnectedRuntime::ConnectedRuntime(const ConnectServices& services, std::string id,
                                   transport::PeerCredentials process)
    : services_(services),
      id_(std::move(id)),
      process_(process),
      queue_(
          std::make_shared<ConnectionQueue>(services.loop, "the runtime " + id_ + " at " + services.path)) {}

Task<void> ConnectedRuntime::follow() {
  // Commands under way may keep the queue alive for longer, so close it explicitly.
  struct Close {
    ConnectionQueue& queue;
    ~Close() { queue.close(); }
  } const close{*queue_};
  UniqueFd pidfd = transport::open_pidfd(process_.pid);
  process_start_ = transport::start_time_of(process_.pid);
  const Result<Runtime> met = co_await meet();
  using Listing = Result<std::unique_ptr<Registry::Entry>>;
  const Listing entry =
      met ? services_.registry.add(*met, *this, false) : Listing(tl::unexpected(met.error()));
  if (!entry) {
    co_await give_up(std::move(pidfd), entry.error());
    co_return;
  }
  listed_ = true;
  services_.log->info("{} (pid {}, .NET {}, {}) dialled in at {}", met->name, met->pid, met->version,
                      to_string(met->state), path());
  co_await until_ended(std::move(pidfd));
  services_.log->info("{} (pid {}) has ended", met->name, met->pid);
}

Task<void> ConnectedRuntime::give_up(UniqueFd pidfd, Error wrong) {
  if (pidfd) {
    co_await transport::sleep(services_.loop, kDying);
    // Many processes end before they answer: nothing is wrong with them.
    if (transport::has_ended(pidfd)) co_return;
  }
  services_.warnings.add("useless " + describe(process_),
                         describe(process_) + " dialled in, but: " + wrong.message());
  co_await transport::sleep(services_.loop, kRetry);
}

Task<Result<Runtime>> ConnectedRuntime::meet() {
  const OpenPort open = [queue = queue_] { return ConnectionQueue::take(queue); };
  Result<Runtime> runtime = co_await introduce(services_.loop, open, path(), nullptr);
  if (runtime && runtime->id != id_) {
    co_return fail("use the runtime at", path(),
                   "it advertises " + id_ + " and says that it is " + runtime->id, "find out what it is");
  }
  co_return runtime;
}

Task<void> ConnectedRuntime::until_ended(UniqueFd pidfd) {
  if (pidfd) {
    co_await transport::process_exit(services_.loop, std::move(pidfd));
    co_return;
  }
  transport::Loop& loop = services_.loop;
  for (std::uint64_t last_seen = loop.now_ms(); loop.now_ms() - last_seen < kGoneAfterMs;) {
    co_await transport::sleep(loop, kLifeLook);
    if (queue_->alive()) last_seen = loop.now_ms();
  }
}

namespace {

using transport::Listener;
using transport::PeerCredentials;

/// A runtime advertises itself as soon as it has connected.
constexpr Milliseconds kAdvertiseLimit{5000};
constexpr std::size_t kMaxSilent = 256;
/// The most followers that are not listed, because they are still being asked who they are or can't be used.
constexpr std::size_t kMaxUnlisted = 256;
/// Descriptors that a runtime takes: a connection that waits, and a pidfd.
constexpr std::size_t kDescriptors = 2;
/// Descriptors that a runtime of an untrusted user may take.
constexpr std::size_t kMaxDescriptors = 4;

constexpr mode_t kPrivate = 0600;
constexpr mode_t kForAllUsers = 0666;

/// Explains why there can be no socket at `path`, where the system's error text would not help.
Error explain(const Error& error, const std::string& path) {
  struct stat status {};
  if (error.cause == ENOENT) {
    return fail("create the socket", path, "its directory does not exist",
                "create it, or mount the volume that the runtimes share with farport there")
        .value();
  }
  if (error.cause != EADDRINUSE || ::lstat(path.c_str(), &status) != 0) return error;
  if (!S_ISSOCK(status.st_mode)) {
    return fail("create the socket", path, "something that is not a socket is there",
                "remove it, or choose another path")
        .value();
  }
  if (status.st_uid != ::geteuid()) {
    return fail("create the socket", path, "a socket of user " + std::to_string(status.st_uid) + " is there",
                "remove it, or choose another path")
        .value();
  }
  return fail("create the socket", path, "another process listens there already",
              "is farport serve running twice? end that process, or choose another path")
      .value();
}

bool same_process(const PeerCredentials& a, const PeerCredentials& b) {
  return a.pid == b.pid && a.uid == b.uid;
}

/// The user with the highest count.
uid_t busiest(const std::map<uid_t, std::size_t>& counts) {
  const auto most = std::max_element(counts.begin(), counts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most->first;
}

/// Root and the agent's own user can connect to any socket of the agent; other users are refused unless the
/// agent is root.
bool is_welcome(const PeerCredentials& process) {
  const uid_t own = ::geteuid();
  return own == 0 || process.uid == 0 || process.uid == own;
}

}  // namespace

struct ConnectPort::Follower {
  Follower(const ConnectServices& services, std::string id, const PeerCredentials& process)
      : runtime(services, std::move(id), process) {}

  ConnectedRuntime runtime;
  bool ended = false;
  Task<void> task;  ///< Declared after the runtime, which it uses.
};

Result<std::unique_ptr<ConnectPort>> ConnectPort::create(transport::Loop& loop, Registry& registry, Log log,
                                                         std::string path) {
  remove_stale_socket(path);
  auto listener = Listener::unix_socket(loop, path, ::geteuid() == 0 ? kForAllUsers : kPrivate);
  if (!listener) return tl::unexpected(explain(listener.error(), path));
  ASSIGN_OR_RETURN(const auto file, inspect_socket(path));
  return std::make_unique<ConnectPort>(loop, registry, std::move(log), std::move(*listener), file);
}

ConnectPort::ConnectPort(transport::Loop& loop, Registry& registry, Log log,
                         std::unique_ptr<Listener> listener, SocketFile file)
    : listener_(std::move(listener)),
      file_(file),
      warnings_(loop, log),
      services_{loop, registry, log, warnings_, listener_->name()},
      shares_(user_shares()),
      greetings_(loop) {}

ConnectPort::~ConnectPort() {
  const Result<SocketFile> now = inspect_socket(path());
  if (now && *now == file_) ::unlink(path().c_str());
}

Task<void> ConnectPort::run() {
  for (;;) {
    Connection connection = co_await listener_->accept();
    if (silent_.size() >= kMaxSilent) end_a_silent_one();
    greetings_.spawn(greet(std::move(connection)));
  }
}

/// Closes the oldest silent connection of the user who has most of them.
void ConnectPort::end_a_silent_one() {
  warnings_.add("flood", "more than " + std::to_string(kMaxSilent) + " connections to " + path() +
                             " say nothing: the oldest ones are closed");
  std::map<uid_t, std::size_t> counts;
  for (const Silent& each : silent_) ++counts[each.user];
  const auto oldest =
      std::find_if(silent_.begin(), silent_.end(),
                   [user = busiest(counts)](const Silent& each) { return each.user == user; });
  transport::FdStream* connection = oldest->connection;
  silent_.erase(oldest);
  connection->abort(
      Error{"read", "the advertise",
            "too many connections have sent nothing, and this one was the oldest of the user with the most"});
}

Task<void> ConnectPort::greet(Connection connection) {
  const auto process = transport::peer_credentials(*connection);
  if (!process) co_return;
  if (!is_welcome(*process)) {
    warnings_.add("user", describe(*process) + " dialled " + path() + ", which belongs to user " +
                              std::to_string(::geteuid()) + ": refused");
    co_return;
  }
  Result<std::string> id = co_await read_id(*connection, process->uid);
  if (id) {
    deliver(std::move(connection), std::move(*id), *process);
  } else if (!id.error().why.empty()) {
    warnings_.add(id.error().why, describe(*process) + " dialled " + path() +
                                      " and is not a runtime that advertises itself: " + id.error().why);
  }
}

Task<Result<std::string>> ConnectPort::read_id(FdStream& connection, uid_t user) {
  struct Entry {
    Entry(std::list<Silent>& list, FdStream& one, uid_t by) : all(list), connection(&one) {
      all.push_back({connection, by});
    }
    ~Entry() {
      all.remove_if([this](const Silent& each) { return each.connection == connection; });
    }
    std::list<Silent>& all;
    FdStream* connection;
  } const entry(silent_, connection, user);
  const transport::Deadline limit(services_.loop, kAdvertiseLimit, [&connection] {
    connection.abort(Error{"read", "the advertise", "it did not arrive completely in time"});
  });
  std::array<std::byte, ipc::kAdvertiseSize> bytes{};
  const transport::Io io = co_await connection.read_exactly(bytes);
  if (io.status == transport::IoStatus::failed) co_return tl::unexpected(connection.error());
  if (io.status == transport::IoStatus::end) {
    // A peer that only checks whether the socket is live does no harm.
    co_return tl::unexpected(
        Error{"read", "the advertise", io.bytes == 0 ? "" : "it broke off in the middle"});
  }
  CO_ASSIGN_OR_RETURN(const auto advertise, ipc::decode_advertise(bytes));
  co_return advertise.cookie.to_string();
}

void ConnectPort::deliver(Connection connection, std::string id, const PeerCredentials& process) {
  if (std::exchange(some_ended_, false)) {
    std::erase_if(followers_, [](const auto& follower) { return follower->ended; });
  }
  const auto known = std::find_if(followers_.begin(), followers_.end(),
                                  [&](const auto& follower) { return follower->runtime.id() == id; });
  if (known == followers_.end()) {
    if (has_share_left(process.uid)) begin(std::move(connection), std::move(id), process);
  } else if (same_process((*known)->runtime.process(), process)) {
    (*known)->runtime.arrived(std::move(connection));
  } else {
    warnings_.add("claim of " + describe(process), "refused " + describe(process) + ": at " + path() +
                                                       " it claims to be the runtime " + id + ", which is " +
                                                       describe((*known)->runtime.process()));
  }
}

void ConnectPort::begin(Connection connection, std::string id, const PeerCredentials& process) {
  make_room();
  auto& follower = followers_.emplace_back(std::make_unique<Follower>(services_, std::move(id), process));
  follower->runtime.arrived(std::move(connection));
  follower->task = [](Follower& self, bool& some_ended) -> Task<void> {
    co_await self.runtime.follow();
    self.ended = true;
    some_ended = true;
  }(*follower, some_ended_);
  follower->task.start();
}

bool ConnectPort::has_share_left(uid_t user) {
  const auto count = std::count_if(followers_.begin(), followers_.end(), [&](const auto& follower) {
    return follower->runtime.process().uid == user;
  });
  const bool trusted = shares_.is_trusted(user);
  const std::size_t share = shares_.of(user) / (trusted ? kDescriptors : kMaxDescriptors);
  if (static_cast<std::size_t>(count) < share) return true;
  warnings_.add("share of " + user_text(user),
                user_text(user) + " has more runtimes that dial " + path() + " than the " +
                    std::to_string(share) +
                    " that are taken of one user: the others are refused; raise the limit of open files "
                    "(LimitNOFILE=)");
  return false;
}

/// If there are too many followers that are not listed, drops the oldest one of the user who has most of
/// them.
void ConnectPort::make_room() {
  std::map<uid_t, std::size_t> counts;
  std::size_t count = 0;
  for (const auto& follower : followers_) {
    if (follower->runtime.listed()) continue;
    ++counts[follower->runtime.process().uid];
    ++count;
  }
  if (count < kMaxUnlisted) return;
  warnings_.add("crowd", "more than " + std::to_string(kMaxUnlisted) + " runtimes at " + path() +
                             " don't say who they are: the oldest ones are dropped");
  followers_.erase(
      std::find_if(followers_.begin(), followers_.end(), [user = busiest(counts)](const auto& follower) {
        return !follower->runtime.listed() && follower->runtime.process().uid == user;
      }));
}

}  // namespace farport::router
