#include "load.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <exception>
#include <memory>
#include <stdexcept>
#include <thread>

#include <poll.h>

namespace farport::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBufferSize = 256 * 1024;
/// Before a stream is measured: congestion windows and buffers have grown by then.
constexpr Seconds kWarmUp{0.2};

double since(Clock::time_point start) {
  return Seconds(Clock::now() - start).count();
}

/// A session that a thread of its own reads and compares until it is stopped. The bytes read may be asked for
/// at any time.
class Reader {
 public:
  Reader(const std::string& path, const SentStream& sent) : sent_(sent), connection_(path) {
    connection_.send(collect_tracing_command());
    connection_.receive_ok();
    thread_ = std::thread([this] { run(); });
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { join(); }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  /// Stops, and throws what the thread has failed with.
  void stop() {
    join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void join() {
    stopped_ = true;
    if (thread_.joinable()) thread_.join();
  }

  void run() {
    try {
      std::vector<std::byte> buffer(kBufferSize);
      while (!stopped_.load(std::memory_order_relaxed)) {
        const std::size_t got = connection_.read(buffer);
        if (got == 0) throw std::runtime_error("the session ended by itself");
        sent_.check(std::span(buffer).first(got), bytes());
        bytes_.fetch_add(got, std::memory_order_relaxed);
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  const SentStream& sent_;
  Connection connection_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::exception_ptr error_;
  std::thread thread_;
};

using Readers = std::vector<std::unique_ptr<Reader>>;

Readers start_readers(const std::string& path, const SentStream& sent, std::size_t count) {
  Readers readers;
  for (std::size_t i = 0; i < count; ++i) readers.push_back(std::make_unique<Reader>(path, sent));
  return readers;
}

/// Runs one command and returns its microseconds, from before connect to the whole answer.
double run_command(const std::string& path, const ipc::Bytes& command) {
  const auto start = Clock::now();
  const Connection connection(path);
  connection.send(command);
  connection.receive_ok();
  return since(start) * 1e6;
}

}  // namespace

double Latencies::percentile(double percent) const {
  if (microseconds.empty()) throw std::runtime_error("no command was answered");
  std::vector<double> sorted = microseconds;
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()));
  const std::size_t index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(index), sorted.end());
  return sorted[index];
}

Latencies run_latency(const std::string& path, std::size_t count, Seconds at_most) {
  const ipc::Bytes command = process_info_command();
  Latencies latencies;
  const auto start = Clock::now();
  while (latencies.microseconds.size() < count && since(start) < at_most.count()) {
    latencies.microseconds.push_back(run_command(path, command));
  }
  return latencies;
}

Throughput run_rate(const std::string& path, Seconds duration, std::size_t concurrency) {
  const ipc::Bytes command = process_info_command();
  std::vector<Connection> connections;
  std::vector<pollfd> polled;
  const auto open = [&](std::size_t slot) {
    // Connection is not assignable, so that none can leak: the slot is made anew.
    std::destroy_at(&connections[slot]);
    std::construct_at(&connections[slot], path);
    connections[slot].send(command);
    polled[slot] = {connections[slot].fd(), POLLIN, 0};
  };
  for (std::size_t slot = 0; slot < concurrency; ++slot) {
    connections.emplace_back(path);
    connections.back().send(command);
    polled.push_back({connections.back().fd(), POLLIN, 0});
  }
  Throughput result;
  const auto start = Clock::now();
  while (since(start) < duration.count()) {
    if (::poll(polled.data(), polled.size(), 10'000) <= 0)
      throw std::runtime_error("no answer for ten seconds");
    for (std::size_t slot = 0; slot < concurrency; ++slot) {
      if (polled[slot].revents == 0) continue;
      connections[slot].receive_ok();
      ++result.amount;
      open(slot);
    }
  }
  result.seconds = since(start);
  result.all = result.amount + concurrency;
  return result;
}

Throughput run_stream(const std::string& path, const SentStream& sent, Seconds duration, std::size_t count) {
  const Readers readers = start_readers(path, sent, count);
  const auto total = [&] {
    std::uint64_t sum = 0;
    for (const auto& reader : readers) sum += reader->bytes();
    return sum;
  };
  std::this_thread::sleep_for(kWarmUp);
  const std::uint64_t before = total();
  const auto start = Clock::now();
  std::this_thread::sleep_for(duration);
  Throughput result{.amount = total() - before, .seconds = since(start)};
  for (const auto& reader : readers) reader->stop();
  result.all = total();
  return result;
}

Throughput run_whole(const std::string& path, const SentStream& sent) {
  const auto start = Clock::now();
  const Connection connection(path);
  connection.send(collect_tracing_command());
  connection.receive_ok();
  Throughput result;
  std::vector<std::byte> buffer(kBufferSize);
  while (const std::size_t got = connection.read(buffer)) {
    sent.check(std::span(buffer).first(got), result.amount);
    result.amount += got;
  }
  result.seconds = since(start);
  result.all = result.amount;
  return result;
}

Latencies run_beside(const std::string& path, const SentStream& sent, Seconds duration, std::size_t count) {
  const Readers readers = start_readers(path, sent, count);
  std::this_thread::sleep_for(kWarmUp);
  const ipc::Bytes command = process_info_command();
  Latencies latencies;
  const auto start = Clock::now();
  while (since(start) < duration.count()) latencies.microseconds.push_back(run_command(path, command));
  for (const auto& reader : readers) reader->stop();
  return latencies;
}

std::vector<Connection> open_sessions(const std::string& path, std::size_t count) {
  std::vector<Connection> sessions;
  for (std::size_t i = 0; i < count; ++i) {
    sessions.emplace_back(path).send(collect_tracing_command());
    sessions.back().receive_ok();
  }
  return sessions;
}

}  // namespace farport::bench
