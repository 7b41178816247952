// The kinds of load, each against one Unix socket. All throw std::runtime_error when a connection fails, or a
// stream is not what was sent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client.hpp"
#include "sent_stream.hpp"

namespace farport::bench {

using Seconds = std::chrono::duration<double>;

/// How long each of many commands took.
struct Latencies {
  std::vector<double> microseconds;

  /// The value that `percent` of all are not above.
  [[nodiscard]] double percentile(double percent) const;
};

/// How much in which time.
struct Throughput {
  std::uint64_t amount = 0;  ///< Commands, or bytes.
  double seconds = 0;
  std::uint64_t all = 0;  ///< With what came before and after the time measured.

  [[nodiscard]] double per_second() const { return static_cast<double>(amount) / seconds; }
};

/// One command after the other, each on a connection of its own, until `count` are done or the time is over.
[[nodiscard]] Latencies run_latency(const std::string& path, std::size_t count, Seconds at_most);
/// The same with `concurrency` connections at any time.
[[nodiscard]] Throughput run_rate(const std::string& path, Seconds duration, std::size_t concurrency);
/// `count` sessions at once, each read as fast as it comes. Measures from when all of them flow.
[[nodiscard]] Throughput run_stream(const std::string& path, const SentStream& sent, Seconds duration,
                                    std::size_t count);
/// One session, read from its beginning to its end.
[[nodiscard]] Throughput run_whole(const std::string& path, const SentStream& sent);
/// One command after the other, while `count` sessions are read as fast as they come.
[[nodiscard]] Latencies run_beside(const std::string& path, const SentStream& sent, Seconds duration,
                                   std::size_t count);
/// Sessions that have begun.
[[nodiscard]] std::vector<Connection> open_sessions(const std::string& path, std::size_t count);

}  // namespace farport::bench
