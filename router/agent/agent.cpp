#include "router/agent/agent.hpp"

#include <algorithm>
#include <cerrno>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "base/resources.hpp"
#include "router/agent/sampler/sampler_looks.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/rest.hpp"

namespace farport::router {
namespace {

constexpr mode_t kOurs = 0600;
constexpr mode_t kForAll = 0666;

}  // namespace

Result<std::unique_ptr<LocalSocket>> LocalSocket::create(transport::Loop& loop, const std::string& path,
                                                         bool for_all) {
  remove_stale_socket(path);
  auto listener = transport::Listener::unix_socket(loop, path, for_all ? kForAll : kOurs);
  if (!listener && listener.error().cause == EADDRINUSE) {
    return fail("listen at", path, "the path already exists", "is another farport running there?");
  }
  if (!listener) return tl::unexpected(listener.error());
  return std::make_unique<LocalSocket>(std::move(*listener), path);
}

using transport::Task;

namespace {

/// How long stopping a session may take. MeterClaims may first hold the stop back.
constexpr transport::Milliseconds kStopLimit = MeterClaims::kMaxHold + transport::Milliseconds(3000);
constexpr transport::Milliseconds kLookForOld{60 * 60 * 1000};
/// Who was there so lately, a follower or a store, is waited for by an agent that stops.
constexpr std::chrono::seconds kRecently{60};
constexpr std::size_t kMostNamed = 10;
/// How long peers may take to be told that their sessions are over.
constexpr transport::Milliseconds kEndLimit{4000};
/// How long the handshakes of all peers, and those who are refused, may keep the loop busy in one turn.
constexpr std::chrono::milliseconds kStrangersShare{1};

/// "a, b, c and 4 more"
std::string first_of_many(const std::vector<std::string>& ids) {
  const std::span<const std::string> named = std::span(ids).first(std::min(ids.size(), kMostNamed));
  std::string text = fmt::format("{}", fmt::join(named, ", "));
  if (ids.size() > named.size()) text += fmt::format(" and {} more", ids.size() - named.size());
  return text;
}

std::optional<CounterLimits> how_app_metrics_reads(const AgentSettings& settings) {
  if (!settings.app_metrics) return std::nullopt;
  return settings.app_metrics->limits;
}

std::shared_ptr<Artifacts> artifacts_of(const AgentSettings& settings) {
  if (settings.artifacts_directory.empty()) return nullptr;
  std::vector<ArtifactStore> stores;
  for (const StoreSettings& each : settings.stores) stores.push_back(each.store);
  return std::make_shared<Artifacts>(settings.artifacts_directory, settings.artifacts, std::move(stores));
}

std::vector<std::shared_ptr<Store>> stores_of(transport::Loop& loop, const AgentSettings& settings) {
  std::vector<std::shared_ptr<Store>> stores;
  for (const StoreSettings& each : settings.stores)
    stores.push_back(std::make_shared<Store>(loop, each, settings.commands));
  return stores;
}

}  // namespace

Agent::Agent(transport::Loop& loop, Log log, AgentSettings settings, auth::TlsCredentialsPtr credentials,
             auth::Policy policy, std::unique_ptr<Audit> audit)
    : loop_(loop),
      log_(std::move(log)),
      settings_(std::move(settings)),
      credentials_(credentials == nullptr
                       ? nullptr
                       : std::make_unique<CredentialWatch>(loop, log_, std::move(credentials),
                                                           settings_.discovery.rescan)),
      policy_(std::move(policy)),
      audit_(std::move(audit)),
      budget_(settings_.limits.buffered_bytes),
      reading_memory_(loop, memory_for_readers()),
      readers_{settings_.readers, &reading_memory_},
      registry_(loop, settings_.host_name),
      discovery_(loop, registry_, log_, settings_.discovery),
      groups_(loop, registry_, own_group_opener(settings_.sampler)),
      dumps_(loop, log_, registry_, groups_, settings_.dump, settings_.sampler),
      doctor_(loop, registry_, discovery_, {settings_.dump, settings_.sampler}),
      suspended_(loop, registry_, log_, settings_.resume_after),
      halts_(loop, registry_, log_),
      meters_(loop, registry_, how_app_metrics_reads(settings_)),
      artifacts_(artifacts_of(settings_)),
      stores_(stores_of(loop, settings_)),
      tracing_(loop, log_, registry_, meters_),
      limits_(loop, settings_.limits),
      handshakes_(settings_.limits.handshakes),
      warnings_(loop, log_),
      refusals_(log_, warnings_, *audit_, metrics_),
      admission_(settings_.limits, refusals_, *audit_, metrics_),
      connections_(loop, log_, admission_, *audit_, metrics_, registry_, suspended_, halts_, groups_,
                   tracing_, meters_, budget_, settings_.session.compression,
                   CompressorLimit::most_beside(settings_.limits.buffered_bytes)),
      resumption_(loop, log_, settings_.session.grace, budget_),
      api_{RuntimeRequests(registry_, halts_, resumption_.instance(), settings_.limits.requests_per_second),
           DumpRequests(dumps_, *audit_, metrics_, settings_.session.compression),
           RecordingRequests(loop, connections_, readers_),
           ProfileRequests(loop, registry_, settings_.sampler, readers_, connections_, *audit_, metrics_),
           ModuleRequests(loop, registry_, settings_.sampler, *audit_, settings_.session.compression),
           RecentRequests(loop, recent_files(), readers_, log_, *audit_),
           ArtifactRequests(loop, log_, artifacts_, stores_, *audit_,
                            [this](std::uint64_t bytes) {
                              listed_bytes_.artifacts = bytes;
                              budget_.set_own(listed_bytes_.runtimes + bytes);
                            }),
           connections_,
           resumption_,
           refusals_,
           metrics_,
           settings_.limits.head_size,
           [this](const Caller& caller) { return describe(caller); },
           [this](const Caller& caller, Examine what, transport::Share& share) {
             return examine(caller, what, share);
           },
           [this] { return metrics_text(); },
           app_metrics_text(),
           rules_text()},
      unauthenticated_share_(std::make_shared<transport::Share>(loop, kStrangersShare)),
      admin_(loop, {[this] { return why_not_ready(); }, [this] { return metrics_text(); }}),
      session_began_(loop),
      stopped_(loop),
      tasks_(loop),
      accepting_(loop),
      serving_(loop) {
  registry_.on_size([this](std::uint64_t bytes) {
    listed_bytes_.runtimes = bytes;
    budget_.set_own(bytes + listed_bytes_.artifacts);
  });
}

std::function<std::string(const Registry::Filter&)> Agent::rules_text() const {
  if (!settings_.rules) return {};
  return [this](const Registry::Filter& seen) { return to_json(rules_->report(seen)); };
}

std::function<std::string(const Registry::Filter&)> Agent::app_metrics_text() const {
  if (!settings_.app_metrics || !settings_.app_metrics->shown) return {};
  return [this](const Registry::Filter& counted) { return app_metrics_->text(counted); };
}

RecentRequests::FilesOf Agent::recent_files() const {
  if (!settings_.recorder) return {};
  return [this](const Runtime& runtime, Recorder::Clock::time_point since, bool with_samples) {
    return recorder_->files(runtime.id, since, with_samples);
  };
}

Result<void> Agent::listen() {
  if (artifacts_ != nullptr) {
    RETURN_IF_ERROR(artifacts_->begin_use());
  }
  RETURN_IF_ERROR(listen_for_admin());
  for (const std::string& path : settings_.connect_ports) {
    ASSIGN_OR_RETURN(auto port, ConnectPort::create(loop_, registry_, log_, path));
    log_->info("runtimes may dial in at {}", path);
    connect_ports_.push_back(std::move(port));
  }
  if (!settings_.local.empty()) {
    ASSIGN_OR_RETURN(auto local, LocalSocket::create(loop_, settings_.local, settings_.local_for_all));
    local_socket_ = std::move(local);
    log_->info("users of this host may join at {}", settings_.local);
  }
  // TCP comes last: whoever waits for the port finds the local sockets there already.
  RETURN_IF_ERROR(listen_by_tcp());
  listen_by_inheritance();
  for (const DialledMirror& mirror : settings_.dial) {
    log_->info("dialling {}, where a mirror may accept agents", mirror.text());
    MirrorDialler::Serve serve_it = [this](Accepted connection) {
      return serve(&Agent::serve_dialled, std::move(connection));
    };
    diallers_.push_back(std::make_unique<MirrorDialler>(loop_, log_, mirror, serving_, std::move(serve_it)));
  }
  return {};
}

Result<void> Agent::listen_for_admin() {
  for (const transport::Address& address : settings_.admin) {
    ASSIGN_OR_RETURN(const auto listening, admin_.listen(address, settings_.reuse_port));
    log_->info("health and metrics are at http://{}/ (without TLS)", listening);
  }
  return {};
}

Result<void> Agent::listen_by_tcp() {
  for (const transport::Address& address : settings_.listen) {
    ASSIGN_OR_RETURN(auto listener, transport::Listener::tcp(loop_, address, settings_.reuse_port));
    log_->info("listening on {} (mutual TLS)", listener->name());
    endpoints_.push_back({std::move(listener), &Agent::serve_tls});
  }
  if (!settings_.insecure_loopback) return {};
  ASSIGN_OR_RETURN(auto listener, transport::Listener::tcp(loop_, *settings_.insecure_loopback));
  log_->warn("listening on {} without TLS: every process of this host may use it", listener->name());
  endpoints_.push_back({std::move(listener), &Agent::serve_plain});
  return {};
}

void Agent::listen_by_inheritance() {
  for (UniqueFd& socket : settings_.inherited) {
    auto listener = transport::Listener::inherited(loop_, std::move(socket));
    const bool secured = listener->is_tcp();
    log_->info("listening on {} ({})", listener->name(), secured ? "mutual TLS" : "users of this host");
    endpoints_.push_back({std::move(listener), secured ? &Agent::serve_tls : &Agent::serve_local});
  }
  settings_.inherited.clear();
}

Task<void> Agent::run() {
  admin_.start();
  tasks_.spawn(discovery_.run());
  tasks_.spawn(dumps_.keep_clean());
  tasks_.spawn(suspended_.run());
  tasks_.spawn(halts_.run());
  if (settings_.sampler != nullptr)
    tasks_.spawn(
        watch_helper(settings_.sampler->process(),
                     "takes profiles has ended, by a signal or for lack of memory: nothing can be profiled"));
  if (settings_.readers != nullptr)
    tasks_.spawn(watch_helper(settings_.readers->process(),
                              "starts readers has ended, by a signal or for lack of memory: there are no "
                              "recordings over HTTP, no profiles as files, and no --app-metrics,"));
  if (settings_.rules) {
    rules_.emplace(loop_, log_, *settings_.rules,
                   Rules::Parts{registry_, api_, limits_, *audit_, artifacts_, readers_, halts_, groups_,
                                settings_.commands,
                                [this](const std::string& id) { return app_metrics_->why_not(id); }});
    tasks_.spawn(rules_->run());
    tasks_.spawn(rules_->open_journal());
  }
  if (settings_.app_metrics) {
    OnMeasurement tell;
    if (rules_) tell = [this](const Runtime& of, const events::Measurement& each) { rules_->take(of, each); };
    app_metrics_.emplace(loop_, registry_, groups_, meters_, readers_, log_, *settings_.app_metrics,
                         std::move(tell));
    tasks_.spawn(app_metrics_->run());
  }
  if (artifacts_ != nullptr && settings_.artifacts.age.count() > 0) tasks_.spawn(remove_old_artifacts());
  for (const std::shared_ptr<Store>& store : stores_) {
    senders_.push_back(std::make_unique<StoreSender>(
        loop_, log_, store, StoreSender::Parts{artifacts_, api_.artifacts, api_.recent, *audit_}));
    tasks_.spawn(senders_.back()->run());
  }
  if (settings_.commands != nullptr)
    tasks_.spawn(watch_helper(settings_.commands->process(),
                              "runs commands has ended, by a signal or for lack of memory: nothing goes to a "
                              "store"));
  if (settings_.recorder) {
    const Recorder::OnEnded tell = [this](const Artifact& kept) {
      if (rules_) rules_->take_end(kept);
    };
    recorder_.emplace(loop_, registry_, groups_, log_, *settings_.recorder, artifacts_,
                      settings_.recorder->samples ? settings_.sampler : nullptr, tell);
    tasks_.spawn(recorder_->run());
  }
  if (credentials_ != nullptr) tasks_.spawn(credentials_->run());
  for (const auto& port : connect_ports_) tasks_.spawn(port->run());
  for (const Endpoint& endpoint : endpoints_) accepting_.spawn(accept(*endpoint.listener, endpoint.handler));
  if (local_socket_ != nullptr) accepting_.spawn(accept(local_socket_->listener(), &Agent::serve_local));
  for (const auto& dialler : diallers_) accepting_.spawn(dialler->run());
  if (settings_.linger) accepting_.spawn(end_when_unused());
  tasks_.spawn(give_back_memory());
  co_await stopped_.wait();
  if (rules_) rules_->stop();
  co_await drain();
  serving_.clear();
  resumption_.clear();
  api_.artifacts.end_keeping();
  if (rules_ && stops_ < 2) co_await with_deadline(loop_, rules_->idle(), kEndLimit);
  co_await dumps_.settled();
  if (rules_) co_await rules_->end();
  if (app_metrics_) co_await app_metrics_->end();
  if (recorder_) co_await recorder_->end();
  // What was kept last, and what has ended together with the agent.
  if (stops_ < 2) co_await with_deadline(loop_, sent_or_stopped(), settings_.drain_limit);
  if (stops_ < 2) co_await with_deadline(loop_, say_what_remains(), kEndLimit);
  tasks_.clear();
}

Task<void> Agent::remove_old_artifacts() {
  for (;;) {
    std::function<std::size_t()> remove = [directory = artifacts_] { return directory->remove_old(); };
    const std::size_t removed = co_await transport::offloaded(loop_, std::move(remove));
    if (removed > 0) log_->info("removed artifacts that were older than artifacts.age: {}", removed);
    co_await transport::sleep(loop_, kLookForOld);
  }
}

/// Gives back the memory that starting took, at once, and later what work took, when nothing has begun or
/// ended for a while.
Task<void> Agent::give_back_memory() {
  const auto work = [this] {
    return std::tuple(metrics_.requests, sessions_begun_, limits_.sessions(), limits_.connections());
  };
  const auto release = [this] {
    connections_.free_buffers();
    release_unused_memory();
  };
  release();
  return transport::at_rest(loop_, work, release);
}

/// Logs the end of a helper process. The agent can't start it again, since it has given that right up. `what`
/// completes the sentence with what the process does and what its end means.
Task<void> Agent::watch_helper(const HelperProcess& helper, const char* what) {
  co_await helper.ended(loop_);
  log_->error("the process that {} until the agent is started again", what);
}

void Agent::stop() {
  ++stops_;
  stopped_.set();
}

void Agent::stop_listening() {
  accepting_.clear();
  endpoints_.clear();
  local_socket_.reset();
}

/// Lets those who followed the artifacts until a moment ago come back for the rest.
Task<void> Agent::listen_for_absent() {
  for (const Followers::Absent& each : api_.artifacts.followers().absent())
    log_->info("waiting for {}, who followed the artifacts and was cut off at {}", each.name,
               utc_text(each.since));
  co_await api_.artifacts.followers().all_back();
  stop_listening();
}

Task<void> Agent::drain() {
  Followers& followers = api_.artifacts.followers();
  followers.forget_before(Followers::Clock::now() - kRecently);
  // Close the listeners first, so that the next agent can have the port. One that shares the port has the
  // artifacts, too.
  transport::TaskSet listening(loop_);
  if (followers.absent().empty() || settings_.reuse_port) {
    followers.forget_before(Followers::Clock::time_point::max());
    stop_listening();
  } else {
    listening.spawn(listen_for_absent());
  }
  if (settings_.reuse_port) admin_.leave_ports();
  resumption_.end_waiting(
      Error{"continue", "the connection", "the agent is being stopped", {}, Cause(ECANCELED)});
  api_.artifacts.tell_of_stop();
  live_.drain();
  if (resumption_.size() > 0) {
    log_->info("draining: {} connections may end by themselves for {} s", resumption_.size(),
               std::chrono::duration<double>(settings_.drain_limit).count());
  }
  bool ended = co_await ended_within(settings_.drain_limit);
  listening.clear();
  stop_listening();
  if (ended) co_return;
  if (tracing_.running()) {
    log_->info("stopping the sessions that still run");
    tracing_.stop_all();
    ended = co_await ended_within(kStopLimit);
    if (ended) co_return;
  }
  live_.end();
  std::ignore = co_await ended_within(kEndLimit);
}

Task<bool> Agent::ended_within(transport::Milliseconds limit) {
  if (stops_ > 1) co_return false;
  const std::optional<bool> ended = co_await with_deadline(loop_, ended_or_stopped(), limit);
  co_return ended.value_or(false);
}

Task<bool> Agent::ended_or_stopped() {
  const bool ended = co_await first_of(idle(), stopped_.wait());
  co_return ended;
}

Task<void> Agent::idle() {
  do {
    co_await resumption_.idle();
    co_await serving_.idle();
    co_await api_.artifacts.idle();
    if (stops_ > 0) co_await api_.artifacts.followers().all_back();
    // Who has come back is served now, and may be cut off again.
  } while (serving_.size() > 0 || (stops_ > 0 && !api_.artifacts.followers().absent().empty()));
}

Task<bool> Agent::sent_or_stopped() {
  const bool sent = co_await first_of(send_last(), stopped_.wait());
  co_return sent;
}

/// Waits until all that is kept has gone to the stores, as far as they can be reached.
Task<void> Agent::send_last() {
  for (const auto& sender : senders_) co_await sender->sent_all(kRecently);
}

Task<void> Agent::say_what_remains() {
  for (const auto& sender : senders_) {
    const std::vector<std::string> ids = co_await sender->waiting();
    if (!ids.empty()) log_->warn("not sent to {}: {}", sender->name(), first_of_many(ids));
  }
  const std::vector<Followers::Absent> absent = api_.artifacts.followers().absent();
  if (absent.empty()) co_return;
  std::function<std::vector<Artifact>()> read = [directory = artifacts_] { return directory->all(); };
  const std::vector<Artifact> all = co_await transport::offloaded(loop_, std::move(read));
  for (const Followers::Absent& each : absent) {
    std::vector<std::string> ids;
    for (const Artifact& kept : all)
      if (kept.time >= utc_text(each.since)) ids.push_back(kept.id);
    log_->warn(
        "{} followed the artifacts, was cut off at {} and did not come back; since then there came: {}",
        each.name, utc_text(each.since), ids.empty() ? "none" : first_of_many(ids));
  }
}

Task<void> Agent::accept(transport::Listener& listener, Handler handler) {
  listener.on_pause([this](const Error& why) { note_pause(why); });
  for (;;) {
    Accepted connection = co_await listener.accept();
    serving_.spawn(serve(handler, std::move(connection)));
    // Let the connections that make room for this one go before the next one is accepted.
    co_await transport::next_turn(loop_);
  }
}

Task<void> Agent::end_when_unused() {
  for (;;) {
    co_await idle();
    const std::size_t begun = sessions_begun_;
    const auto linger =
        left_in_order_ ? *settings_.linger : std::max(*settings_.linger, settings_.session.grace);
    const transport::Deadline limit(loop_, linger, [this] { session_began_.set(); });
    while (begun == sessions_begun_ && !limit.expired()) co_await session_began_.wait();
    if (begun != sessions_begun_) continue;
    // It may be stopping already, and a second stop() would not let it end in good order.
    if (stops_ > 0) co_return;
    log_->info("no session uses this agent any more: stopping");
    stop();
    co_return;
  }
}

Task<void> Agent::serve(Handler handler, Accepted connection) {
  ++sessions_begun_;
  session_began_.set();
  co_await (this->*handler)(std::move(connection));
}

void Agent::note_pause(const Error& why) {
  ++metrics_.accept_pauses;
  warnings_.add("accept", why.message());
}

void Agent::reload_certificates() {
  if (credentials_ != nullptr) credentials_->reload();
}

void Agent::reopen_audit() {
  const Result<void> opened = audit_->reopen();
  if (opened) {
    log_->info("reopened the audit log");
  } else {
    log_->error("{}; the old file stays in use", opened.error().message());
  }
}

}  // namespace farport::router
