#include "options.hpp"

#include <map>
#include <stdexcept>

namespace farport::fake {
namespace {

constexpr const char* kUsage =
    "usage: fake_runtime SOCKET [--pid N] [--cookie GUID] [--name ENTRY] [--command-line TEXT] "
    "[--stream-bytes N] [--stream-file FILE] [--stream-rate N]\n"
    "                    [--fault hang|garbage|half-answer|close|early-answer|flood|silent|old] "
    "[--leave-socket]\n"
    "                    [--dump bytes:N|link:TARGET|hard:TARGET|user:N|directory|nothing|error:TEXT]\n"
    "                    [--burden THREADS MAPPINGS DIR]\n"
    "       fake_runtime --many N DIR\n"
    "       fake_runtime --write-dump PATH N";

Fault fault_named(const std::string& name) {
  static const std::map<std::string, Fault> faults{{"hang", Fault::hang},
                                                   {"garbage", Fault::garbage},
                                                   {"half-answer", Fault::half_answer},
                                                   {"close", Fault::close},
                                                   {"early-answer", Fault::early_answer},
                                                   {"flood", Fault::flood},
                                                   {"silent", Fault::silent},
                                                   {"old", Fault::old}};
  const auto found = faults.find(name);
  if (found == faults.end()) throw std::invalid_argument(kUsage);
  return found->second;
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) throw std::invalid_argument(kUsage);
      return argv[++i];
    };
    if (argument == "--pid") {
      options.pid = std::stoull(value());
    } else if (argument == "--cookie") {
      options.cookie = value();
    } else if (argument == "--name") {
      options.name = value();
    } else if (argument == "--command-line") {
      options.command_line = value();
    } else if (argument == "--stream-bytes") {
      options.stream_bytes = std::stoull(value());
    } else if (argument == "--stream-file") {
      options.stream_file = value();
    } else if (argument == "--stream-rate") {
      options.stream_rate = std::stoull(value());
    } else if (argument == "--dump") {
      options.dump = value();
    } else if (argument == "--write-dump") {
      options.write_dump = value();
      options.dump_size = std::stoull(value());
    } else if (argument == "--fault") {
      options.fault = fault_named(value());
    } else if (argument == "--leave-socket") {
      options.leave_socket = true;
    } else if (argument == "--burden") {
      options.burden.threads = std::stoull(value());
      options.burden.mappings = std::stoull(value());
      options.burden.directory = value();
    } else if (argument == "--many") {
      options.many = std::stoi(value());
      options.directory = value();
    } else if (argument.starts_with("-") || !options.socket.empty()) {
      throw std::invalid_argument(kUsage);
    } else {
      options.socket = argument;
    }
  }
  if (!options.write_dump.empty()) return options;
  if (options.socket.empty() == (options.many == 0)) throw std::invalid_argument(kUsage);
  return options;
}

}  // namespace farport::fake
