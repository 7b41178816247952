#include <algorithm>

#include <catch2/catch.hpp>

#include "transport/http2/output.hpp"

using namespace std::chrono_literals;
using farport::transport::Http2Window;

namespace {

constexpr std::uint32_t kSmallest = 1 << 20;
constexpr std::uint32_t kLargest = 128 << 20;

/// A network of which a PING takes `round_trip` by itself.
class Network {
 public:
  explicit Network(Http2Window::Clock::duration round_trip) : round_trip_(round_trip) {
    ping(round_trip_, 0);
  }

  /// One PING, while so much comes.
  void ping(Http2Window::Clock::duration took, std::size_t came) {
    window.ping_sent(now_);
    now_ += took;
    if (came > 0) CHECK_FALSE(window.received(came, now_));  // One is under way.
    if (const auto size = window.ping_acknowledged(now_)) changes.push_back(*size);
    now_ += 60ms;
  }
  /// A stream that takes this many bytes a second where the window lets it, of a sender that has so many
  /// round trips' worth under way at most.
  void stream(double bytes_per_second, double round_trips = 1e9) {
    const double a_round_trip = std::chrono::duration<double>(round_trip_).count();
    const double holds = bytes_per_second * a_round_trip;
    const double size = changes.empty() ? kSmallest : changes.back();
    const double in_flight = std::min(size, holds);
    // What the network doesn't hold of what is under way waits in front of it.
    const double under_way = std::min(size, round_trips * holds);
    const auto took = std::chrono::duration<double>(std::max(under_way / bytes_per_second, a_round_trip));
    if (!window.received(static_cast<std::size_t>(size / 2), now_)) return;
    const double came = in_flight * (took.count() / a_round_trip);
    ping(std::chrono::duration_cast<Http2Window::Clock::duration>(took), static_cast<std::size_t>(came));
  }
  void seconds(int count) { now_ += std::chrono::seconds(count); }

  Http2Window window{kSmallest, kLargest};
  std::vector<std::uint32_t> changes;

 private:
  Http2Window::Clock::duration round_trip_;
  Http2Window::Clock::time_point now_{};
};

}  // namespace

TEST_CASE("a window grows until it is somewhat more than what a long, fast network holds") {
  Network network(100ms);
  for (int i = 0; i < 80; ++i) network.stream(125e6);
  const std::uint32_t size = network.changes.back();
  CHECK(size > 18'500'000);
  CHECK(size < 19'000'000);
}

TEST_CASE("a window never limits a sender that fills no queue") {
  Network network(100ms);
  for (int i = 0; i < 10; ++i) network.stream(125e6, 2.9);  // Until it knows the network.
  for (int i = 0; i < 60; ++i) network.stream(125e6, 1);
  const std::uint32_t size = network.changes.back();
  CHECK(size > 49'500'000);
  CHECK(size < 50'500'000);
}

TEST_CASE("a window stays as it is where larger ones would only fill buffers") {
  SECTION("next door") {
    Network network(200us);
    for (int i = 0; i < 20; ++i) network.stream(1e9);
    CHECK(network.changes.empty());
  }
  SECTION("over a slow network") {
    Network network(50ms);
    for (int i = 0; i < 20; ++i) network.stream(2.5e6);
    CHECK(network.changes.empty());
  }
}

TEST_CASE("a network that is away for a while is not taken for a long one") {
  Network network(1ms);
  for (int i = 0; i < 10; ++i) network.ping(3s, kSmallest);
  CHECK(network.changes.empty());
}

TEST_CASE("a sender that fills queues is found out each time") {
  Network network(100ms);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 80; ++i) network.stream(125e6);
    CHECK(network.changes.back() < 19'000'000);
    for (int i = 0; i < 4; ++i) {
      network.seconds(5);
      network.ping(150ms, 0);
    }
    CHECK(network.changes.back() == kSmallest);
  }
}

TEST_CASE("a queue that others have filled is forgotten when it is gone") {
  Network network(100ms);
  for (int i = 0; i < 80; ++i) network.stream(125e6);
  CHECK(network.changes.back() < 19'000'000);
  for (int i = 0; i < 80; ++i) network.stream(125e6, 1);
  CHECK(network.changes.back() > 49'500'000);
}

TEST_CASE("a window falls with its network") {
  Network network(100ms);
  for (int i = 0; i < 60; ++i) network.stream(125e6, 1);
  REQUIRE(network.changes.back() > 49'500'000);
  for (int i = 0; i < 10; ++i) {
    network.seconds(5);
    network.ping(100ms, 1'000'000);
  }
  CHECK(network.changes.back() == 4'000'000);
}

TEST_CASE("a window shrinks when little comes") {
  Network network(100ms);
  for (int i = 0; i < 80; ++i) network.stream(125e6);
  network.changes.clear();
  for (int i = 0; i < 4; ++i) {
    network.seconds(5);
    network.ping(100ms, 1000);
  }
  CHECK(network.changes == std::vector{kSmallest});
}

TEST_CASE("credit is given more often over a long network") {
  CHECK(Network(100ms).window.credit_unit() == 256 * 1024);
  CHECK(Network(100us).window.credit_unit() == kSmallest / 2);
  CHECK(Http2Window(kSmallest, kLargest).credit_unit() == kSmallest / 2);
}

TEST_CASE("a window that may not grow asks for no PING") {
  Http2Window window(kSmallest, kSmallest);
  CHECK_FALSE(window.received(100 * kSmallest, Http2Window::Clock::time_point(1h)));
}
