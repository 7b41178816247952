#include "router/dial_in_port.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

#include "ipc/advertise.hpp"
#include "router/local_files.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::FdStream;
using transport::Listener;
using transport::Milliseconds;
using transport::PeerCredentials;
using transport::Task;

/// A runtime advertises as soon as it has connected.
constexpr Milliseconds kAdvertiseLimit{5000};
constexpr std::size_t kMaxSilent = 256;
/// Those that are not listed: being asked who they are, or of no use.
constexpr std::size_t kMaxUnlisted = 256;

constexpr mode_t kPrivate = 0600;
constexpr mode_t kForAllUsers = 0666;

/// Why there can be no socket at `path`, where the system's own words would not help.
Error explain(const Error& error, const std::string& path) {
  struct stat status {};
  if (error.code == ENOENT) {
    return fail("create the socket", path, "its directory does not exist",
                "create it, or mount the volume that the runtimes share with farport there")
        .value();
  }
  if (error.code != EADDRINUSE || ::lstat(path.c_str(), &status) != 0) return error;
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

/// Nobody else can make the socket of a farport that isn't root, but root and its own user can dial it.
bool is_welcome(const PeerCredentials& process) {
  const uid_t own = ::geteuid();
  return own == 0 || process.uid == 0 || process.uid == own;
}

}  // namespace

struct DialInPort::Follower {
  Follower(const DialInServices& services, std::string id, const PeerCredentials& process)
      : runtime(services, std::move(id), process) {}

  DialledRuntime runtime;
  bool ended = false;
  Task<void> task;  ///< After the runtime, which it uses.
};

Result<std::unique_ptr<DialInPort>> DialInPort::create(transport::Loop& loop, Registry& registry, Log log,
                                                       std::string path) {
  remove_stale_socket(path);
  auto listener = Listener::unix_socket(loop, path, ::geteuid() == 0 ? kForAllUsers : kPrivate);
  if (!listener) return tl::unexpected(explain(listener.error(), path));
  const Result<SocketFile> file = inspect_socket(path);
  if (!file) return tl::unexpected(file.error());
  return std::make_unique<DialInPort>(loop, registry, std::move(log), std::move(*listener), *file);
}

DialInPort::DialInPort(transport::Loop& loop, Registry& registry, Log log, std::unique_ptr<Listener> listener,
                       SocketFile file)
    : listener_(std::move(listener)),
      file_(file),
      complaints_(loop, log),
      services_{loop, registry, log, complaints_, listener_->name()},
      greetings_(loop) {}

DialInPort::~DialInPort() {
  const Result<SocketFile> now = inspect_socket(path());
  if (now && *now == file_) ::unlink(path().c_str());
}

Task<void> DialInPort::run() {
  for (;;) {
    Connection connection = co_await listener_->accept();
    if (silent_.size() >= kMaxSilent) {
      complaints_.add("flood", "more than " + std::to_string(kMaxSilent) + " connections to " + path() +
                                   " say nothing: the oldest ones are closed");
      silent_.front()->abort(Error{"read", "the advertise", "too many others are silent too", {}, 0});
      silent_.pop_front();
    }
    greetings_.spawn(greet(std::move(connection)));
    co_await transport::next_turn(services_.loop);
  }
}

Task<void> DialInPort::greet(Connection connection) {
  const auto process = transport::peer_credentials(*connection);
  if (!process) co_return;
  if (!is_welcome(*process)) {
    complaints_.add("user", describe(*process) + " dialled " + path() + ", which belongs to user " +
                                std::to_string(::geteuid()) + ": refused");
    co_return;
  }
  Result<std::string> id = co_await read_id(*connection);
  if (id) {
    deliver(std::move(connection), std::move(*id), *process);
  } else if (!id.error().why.empty()) {
    complaints_.add(id.error().why, describe(*process) + " dialled " + path() +
                                        " and is not a runtime that advertises itself: " + id.error().why);
  }
}

Task<Result<std::string>> DialInPort::read_id(FdStream& connection) {
  struct Silent {
    Silent(std::list<FdStream*>& list, FdStream& silent) : all(list), one(silent) { all.push_back(&one); }
    ~Silent() { all.remove(&one); }
    std::list<FdStream*>& all;
    FdStream& one;
  } const silent(silent_, connection);
  const transport::Deadline limit(services_.loop, kAdvertiseLimit, [&connection] {
    connection.abort(Error{"read", "the advertise", "it did not come whole in time", {}, 0});
  });
  std::array<std::byte, ipc::kAdvertiseSize> bytes{};
  const transport::Io io = co_await connection.read_exactly(bytes);
  if (io.status == transport::IoStatus::failed) co_return tl::unexpected(connection.error());
  if (io.status == transport::IoStatus::end) {
    // Whoever only looks whether somebody listens here does no harm.
    co_return tl::unexpected(
        Error{"read", "the advertise", io.bytes == 0 ? "" : "it broke off in the middle", {}, 0});
  }
  const auto advertise = ipc::decode_advertise(bytes);
  if (!advertise) co_return tl::unexpected(advertise.error());
  co_return advertise->cookie.to_string();
}

void DialInPort::deliver(Connection connection, std::string id, const PeerCredentials& process) {
  std::erase_if(followers_, [](const auto& follower) { return follower->ended; });
  const auto known = std::find_if(followers_.begin(), followers_.end(),
                                  [&](const auto& follower) { return follower->runtime.id() == id; });
  if (known == followers_.end()) {
    begin(std::move(connection), std::move(id), process);
  } else if (same_process((*known)->runtime.process(), process)) {
    (*known)->runtime.arrived(std::move(connection));
  } else {
    complaints_.add("claim of " + describe(process),
                    "refused " + describe(process) + ": at " + path() + " it claims to be the runtime " + id +
                        ", which is " + describe((*known)->runtime.process()));
  }
}

void DialInPort::begin(Connection connection, std::string id, const PeerCredentials& process) {
  make_room();
  auto& follower = followers_.emplace_back(std::make_unique<Follower>(services_, std::move(id), process));
  follower->runtime.arrived(std::move(connection));
  follower->task = [](Follower& self) -> Task<void> {
    co_await self.runtime.follow();
    self.ended = true;
  }(*follower);
  follower->task.start();
}

void DialInPort::make_room() {
  const auto unlisted = [](const auto& follower) { return !follower->runtime.listed(); };
  const auto count = std::count_if(followers_.begin(), followers_.end(), unlisted);
  if (static_cast<std::size_t>(count) < kMaxUnlisted) return;
  complaints_.add("crowd", "more than " + std::to_string(kMaxUnlisted) + " runtimes at " + path() +
                               " don't say who they are: the oldest ones are dropped");
  followers_.erase(std::find_if(followers_.begin(), followers_.end(), unlisted));
}

}  // namespace farport::router
