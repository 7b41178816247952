// farport_bench: a load client for a diagnostic port, which prints what it measured as one line of JSON.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "floor.hpp"
#include "load.hpp"

namespace farport::bench {
namespace {

constexpr const char* kUsage =
    "usage: farport_bench SOCKET latency COUNT [SECONDS]       commands one by one\n"
    "       farport_bench SOCKET rate SECONDS [CONCURRENCY]    commands, 16 at once\n"
    "       farport_bench SOCKET stream SECONDS [COUNT]        sessions' streams\n"
    "       farport_bench SOCKET beside SECONDS [COUNT]        commands beside streams\n"
    "       farport_bench SOCKET hold COUNT                    sessions, open until stdin ends\n"
    "       farport_bench SOCKET whole 0                       one session to its end\n"
    "       farport_bench SOCKET floor SECONDS                 one stream, encrypted and written to TCP "
    "here\n"
    "       ... --stream-file FILE                             what the runtime streams, if it was told";

/// Takes `--stream-file FILE` from the end of the arguments. Empty: there is none.
std::string take_stream_file(std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments[arguments.size() - 2] != "--stream-file") return {};
  const std::string file = arguments.back();
  arguments.resize(arguments.size() - 2);
  return file;
}

void print(const Latencies& latencies) {
  std::printf("{\"commands\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f}\n", latencies.microseconds.size(),
              latencies.percentile(50), latencies.percentile(99));
}

void run(std::vector<std::string> arguments) {
  const SentStream sent(take_stream_file(arguments));
  if (arguments.size() < 3 || arguments.size() > 4) throw std::invalid_argument(kUsage);
  const std::string& path = arguments[0];
  const std::string& load = arguments[1];
  const auto number = [&](std::size_t at, double otherwise) {
    return at < arguments.size() ? std::stod(arguments[at]) : otherwise;
  };
  const Seconds duration(number(2, 0));
  if (load == "latency") {
    print(run_latency(path, static_cast<std::size_t>(number(2, 0)), Seconds(number(3, 60))));
  } else if (load == "rate") {
    const Throughput rate = run_rate(path, duration, static_cast<std::size_t>(number(3, 16)));
    std::printf("{\"commands\": %llu, \"per_second\": %.1f}\n", static_cast<unsigned long long>(rate.all),
                rate.per_second());
  } else if (load == "stream") {
    const Throughput stream = run_stream(path, sent, duration, static_cast<std::size_t>(number(3, 1)));
    std::printf("{\"bytes\": %llu, \"mib_per_second\": %.1f}\n", static_cast<unsigned long long>(stream.all),
                stream.per_second() / (1 << 20));
  } else if (load == "beside") {
    print(run_beside(path, sent, duration, static_cast<std::size_t>(number(3, 1))));
  } else if (load == "hold") {
    const std::vector<Connection> held = open_sessions(path, static_cast<std::size_t>(number(2, 0)));
    std::printf("{\"sessions\": %zu}\n", held.size());
    std::fflush(stdout);
    while (std::getchar() != EOF) continue;
  } else if (load == "whole") {
    const Throughput whole = run_whole(path, sent);
    std::printf("{\"bytes\": %llu, \"seconds\": %.3f}\n", static_cast<unsigned long long>(whole.all),
                whole.seconds);
  } else if (load == "floor") {
    const Floor floor = run_floor(path, duration);
    std::printf("{\"bytes\": %llu, \"mib_per_second\": %.1f, \"cpu_seconds\": %.4f}\n",
                static_cast<unsigned long long>(floor.stream.all), floor.stream.per_second() / (1 << 20),
                floor.cpu_seconds);
  } else {
    throw std::invalid_argument(kUsage);
  }
}

}  // namespace
}  // namespace farport::bench

int main(int argc, char** argv) {
  try {
    farport::bench::run({argv + 1, argv + argc});
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "farport_bench: %s\n", error.what());
    return 1;
  }
}
