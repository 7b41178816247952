#include "router/mirror/accepted_agents.hpp"

#include <algorithm>
#include <cerrno>

#include "auth/identity.hpp"
#include "router/mirror/agent_route.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/wire/session_options.hpp"
#include "transport/race.hpp"
#include "transport/stream.hpp"

namespace farport::router {

transport::Task<Result<AcceptedConnection>> greet(std::unique_ptr<transport::FdStream> connection,
                                                  std::string server_name, CredentialWatch& credentials,
                                                  transport::Share& time) {
  const std::string address = connection->name();
  auto agreed = co_await shake_hands(std::move(connection), address, std::move(server_name),
                                     credentials.context(), time);
  if (!agreed) co_return tl::unexpected(agreed.error());
  const auto line = co_await transport::read_line(*agreed->stream, kDialledGreetingSize);
  const auto instance = line ? instance_in_greeting(*line) : std::nullopt;
  if (!instance) {
    co_return fail("take", address, "it does not say which agent it is", "is it farport serve --dial?");
  }
  AcceptedConnection accepted{agent_of(*instance, agreed->ssl), std::move(*agreed)};
  accepted.connection.peers = &credentials.peers();
  co_return accepted;
}

namespace {

using transport::Milliseconds;
using transport::Task;

/// Handshakes under way at once. Anybody may dial in, not only agents.
constexpr std::size_t kHandshakes = 64;
/// Loop time in a turn for handshakes with peers that are not known yet.
constexpr std::chrono::milliseconds kStrangersShare{5};
/// Time limit for a handshake and the greeting that follows it.
constexpr Milliseconds kGreetingLimit{15'000};
/// Most agents that are followed.
constexpr std::size_t kMaxAgents = 1000;
/// How often to look for agents whose grace period is over.
constexpr Milliseconds kGraceLook{1000};

}  // namespace

Result<std::unique_ptr<AcceptedAgents>> AcceptedAgents::listen(
    MirrorServices& services, MirrorChoice choice, const std::vector<transport::Address>& addresses,
    std::string server_name, CredentialWatch& credentials) {
  std::vector<std::unique_ptr<transport::Listener>> listeners;
  for (const transport::Address& address : addresses) {
    ASSIGN_OR_RETURN(auto listener, transport::Listener::tcp(services.loop, address));
    services.log->info("accepting agents at {} (mutual TLS)", listener->name());
    listeners.push_back(std::move(listener));
  }
  return std::make_unique<AcceptedAgents>(services, std::move(choice), std::move(listeners),
                                          std::move(server_name), credentials);
}

AcceptedAgents::AcceptedAgents(MirrorServices& services, MirrorChoice choice,
                               std::vector<std::unique_ptr<transport::Listener>> listeners,
                               std::string server_name, CredentialWatch& credentials)
    : RemoteAgents(services, std::move(choice), listeners.front()->name()),
      server_name_(std::move(server_name)),
      credentials_(credentials),
      listeners_(std::move(listeners)),
      handshakes_(kHandshakes),
      strangers_(services.loop, kStrangersShare),
      warnings_(services.loop, services.log),
      changed_(services.loop),
      accepting_(services.loop) {}

AcceptedAgents::~AcceptedAgents() = default;

Task<void> AcceptedAgents::run() {
  for (const auto& listener : listeners_) accepting_.spawn(accept(*listener));
  for (;;) {
    // A connection that waits is as good as a session.
    for (LinkEntry& each : links_) each.found = route_of(each).has_next();
    if (remove_gone("it has not dialled in again")) services_.on_change();
    co_await with_deadline(services_.loop, changed_.wait(), kGraceLook);
  }
}

Task<void> AcceptedAgents::leave() {
  accepting_.clear();
  listeners_.clear();
  return RemoteAgents::leave();
}

Task<void> AcceptedAgents::accept(transport::Listener& listener) {
  listener.on_pause([this](const Error& why) { warnings_.add("accept", why.message()); });
  for (;;) {
    auto connection = co_await listener.accept();
    accepting_.spawn(admit(std::move(connection)));
    // A connection that was evicted to make room for this one must be gone before the next one is accepted.
    co_await transport::next_turn(services_.loop);
  }
}

Task<void> AcceptedAgents::admit(std::unique_ptr<transport::FdStream> connection) {
  transport::FdStream& socket = *connection;
  const std::string address = connection->name();
  std::function<void()> make_room = [&socket] {
    socket.abort(Error{
        "complete the TLS handshake with",
        {},
        "there are too many handshakes at once, and this one was the oldest of the network with the most",
        {},
        Cause(ENOBUFS)});
  };
  const transport::HandshakeLimiter::Entry handshake(handshakes_, address, std::move(make_room));
  auto greeted = co_await with_deadline(
      services_.loop, greet(std::move(connection), server_name_, credentials_, strangers_), kGreetingLimit);
  if (!greeted) {
    warnings_.add("handshake", address + " has dialled in and does not say which agent it is");
  } else if (!*greeted && greeted->error().cause == ECONNRESET) {
    // A probe or a port scan: nothing is wrong.
    services_.log->debug("{} connected and closed again", address);
  } else if (!*greeted) {
    warnings_.add("handshake", greeted->error().message());
  } else {
    take(std::move((*greeted)->agent), std::move((*greeted)->connection));
  }
}

void AcceptedAgents::take(std::string agent, AgentConnection connection) {
  const auto known =
      std::find_if(links_.begin(), links_.end(), [&](const LinkEntry& each) { return each.key == agent; });
  if (known == links_.end()) {
    begin(std::move(agent), std::move(connection));
    return;
  }
  // An agent has one connection at a time. The previous one has broken, even if that has not been noticed
  // yet.
  const auto session = known->link->session();
  if (session != nullptr) {
    session->abort(Error{
        "keep the session with", session->address(), "the agent has dialled again", {}, Cause(ECONNRESET)});
  }
  route_of(*known).give(std::move(connection));
  known->link->sessions().dial_now();
}

void AcceptedAgents::begin(std::string agent, AgentConnection connection) {
  if (links_.size() >= kMaxAgents) {
    warnings_.add("agents", connection.address + " is not followed: the maximum of " +
                                std::to_string(kMaxAgents) + " agents is reached");
    return;
  }
  services_.log->info("the agent {} has dialled in from {}",
                      describe(auth::identity_of(SSL_get0_peer_certificate(connection.ssl))),
                      connection.address);
  add_link(std::move(agent), std::make_unique<AcceptedRoute>(services_.loop, std::move(connection)));
}

std::string AcceptedAgents::search_error() const {
  return links_.empty() ? "no agent has dialled in at " + name() + " yet (farport serve --dial)"
                        : std::string();
}

bool AcceptedAgents::follows(const std::string& agent) const {
  return std::any_of(links_.begin(), links_.end(),
                     [&](const LinkEntry& each) { return each.key == agent && !each.link->given_up(); });
}

}  // namespace farport::router
