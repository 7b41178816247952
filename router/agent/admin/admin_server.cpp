#include "router/agent/admin/admin_server.hpp"

namespace farport::router {
namespace {

using transport::Task;

/// More than probes and a few Prometheus servers take.
constexpr std::size_t kMostConnections = 64;
/// Of the loop, in one of its turns: for all who ask here.
constexpr std::chrono::milliseconds kShare{1};

}  // namespace

AdminServer::AdminServer(transport::Loop& loop, AdminSources sources)
    : loop_(loop),
      answerer_([sources = std::move(sources)](const Http1Request& request) {
        return answer_admin(sources, request);
      }),
      share_(loop, kShare),
      places_(kMostConnections),
      serving_(loop),
      accepting_(loop) {}

Result<std::string> AdminServer::listen(const transport::Address& address, bool share) {
  auto listener = transport::Listener::tcp(loop_, address, share);
  if (!listener) return tl::unexpected(listener.error());
  listeners_.push_back(std::move(*listener));
  return listeners_.back()->name();
}

void AdminServer::start() {
  for (const auto& listener : listeners_) accepting_.spawn(accept(*listener));
}

void AdminServer::leave_ports() {
  accepting_.clear();
  listeners_.clear();
}

Task<void> AdminServer::accept(transport::Listener& listener) {
  for (;;) {
    auto connection = co_await listener.accept();
    serving_.spawn(serve(std::move(connection)));
    // Who has made room has gone before the next one comes.
    co_await transport::next_turn(loop_);
  }
}

Task<void> AdminServer::serve(std::unique_ptr<transport::FdStream> connection) {
  transport::FdStream& socket = *connection;
  std::function<void()> make_room = [&socket] {
    socket.abort(Error{"answer", "the peer", "others have come since", {}, ENOBUFS});
  };
  const transport::HandshakeLimiter::Entry place(places_, socket.name(), std::move(make_room));
  Http1Connection http(socket, share_, patience_, answerer_);
  co_await http.serve();
}

}  // namespace farport::router
