#include "router/agent/mirror_dialler.hpp"

#include <cerrno>

#include "transport/happy_eyeballs.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Milliseconds;
using transport::Task;

constexpr Milliseconds kDialLimit{10'000};
constexpr Milliseconds kFirstPause{200};
/// Short, since somebody may be waiting at the mirror.
constexpr Milliseconds kLongestPause{5'000};
/// A connection that lasted longer resets the backoff.
constexpr std::chrono::seconds kLasting{10};

}  // namespace

MirrorDialler::MirrorDialler(transport::Loop& loop, Log log, DialledMirror mirror,
                             transport::TaskSet& serving, Serve serve)
    : loop_(loop),
      log_(std::move(log)),
      mirror_(std::move(mirror)),
      serving_(serving),
      serve_(std::move(serve)) {}

Task<void> MirrorDialler::run() {
  transport::Backoff backoff(kFirstPause, kLongestPause);
  for (;;) {
    auto connection = co_await dial();
    if (connection) {
      failure_.clear();
      const auto began = std::chrono::steady_clock::now();
      co_await serve(std::move(*connection));
      if (std::chrono::steady_clock::now() - began > kLasting) backoff.reset();
    } else {
      note_failure(connection.error());
    }
    co_await transport::sleep(loop_, backoff.next());
  }
}

Task<Result<std::unique_ptr<transport::FdStream>>> MirrorDialler::dial() {
  if (mirror_.proxy) {
    auto connection =
        co_await transport::connect_through(loop_, *mirror_.proxy, mirror_.host, mirror_.port, kDialLimit);
    co_return connection;
  }
  CO_ASSIGN_OR_RETURN(const auto addresses, co_await transport::resolve(loop_, mirror_.host, mirror_.port));
  CO_ASSIGN_OR_RETURN(auto connected, co_await transport::connect_any(
                                          loop_, transport::interleave_families(addresses), kDialLimit));
  co_return std::move(connected.stream);
}

Task<void> MirrorDialler::serve(std::unique_ptr<transport::FdStream> connection) {
  // The connection may outlive this wait: an agent that stops cancels the dialling, and lets the connection
  // end.
  const auto over = std::make_shared<transport::Event>(loop_);
  serving_.spawn([](Task<void> served, std::shared_ptr<transport::Event> ended) -> Task<void> {
    co_await std::move(served);
    ended->set();
  }(serve_(std::move(connection)), over));
  co_await over->wait();
}

void MirrorDialler::note_failure(Error why) {
  if (why.cause == ECONNREFUSED) why.hint = "nothing listens there: is farport connect --accept running?";
  if (failure_ != why.message()) log_->warn("{}; dialling again", why.message());
  failure_ = why.message();
}

}  // namespace farport::router
