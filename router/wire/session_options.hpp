// How both sides of a session tell that it is broken, what happens then, and how bytes are sent in it.
#pragma once

#include "transport/http2/session.hpp"

namespace farport::router {

/// Whether what a runtime says is compressed on its way.
enum class Compression {
  automatic,  ///< While the network is the bottleneck, and it helps.
  always,
  never,
};

struct SessionOptions {
  transport::Milliseconds grace{30'000};  ///< How long diagnostic connections wait for the next session.
  transport::Milliseconds ping_interval{5'000};  ///< 0: no PINGs.
  transport::Milliseconds ping_timeout{5'000};   ///< Silence for this long after a PING: it is broken.
  Compression compression = Compression::automatic;

  [[nodiscard]] transport::Http2Limits limits() const {
    transport::Http2Limits limits;
    limits.ping_interval = ping_interval;
    limits.ping_timeout = ping_timeout;
    return limits;
  }
};

/// For the side that asks: what all copies share bounds what all agents may take together.
struct ClientOptions : SessionOptions {
  explicit ClientOptions(transport::Loop& loop, const SessionOptions& options = {})
      : SessionOptions(options), agents(std::make_shared<transport::Parties>(loop, kShare, kBytes)) {}

  std::shared_ptr<transport::Parties> agents;

 private:
  static constexpr std::chrono::milliseconds kShare{5};
  static constexpr std::uint64_t kBytes = std::uint64_t{512} << 20;
};

}  // namespace farport::router
