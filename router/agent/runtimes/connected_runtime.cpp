#include "router/agent/runtimes/connected_runtime.hpp"

#include "router/agent/runtimes/suspension.hpp"
#include "router/agent/runtimes/user_shares.hpp"
#include "transport/child_process.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

/// A runtime that can't be used is not tried again for this long.
constexpr Milliseconds kRetry{5000};
/// A process closes its connections a moment before its pidfd reports its end.
constexpr Milliseconds kDying{200};
/// A runtime whose process we can't see has ended when it has had no connection for this long.
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
  // Commands under way may hold the queue for longer.
  struct Close {
    ConnectionQueue& queue;
    ~Close() { queue.close(); }
  } const close{*queue_};
  UniqueFd pidfd = transport::open_pidfd(process_.pid);
  process_start_ = transport::start_of(process_.pid);
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
    // Many processes are over before they have answered: nothing is wrong with them.
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

}  // namespace farport::router
