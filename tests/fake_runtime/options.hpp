// What a fake runtime is to be like.
#pragma once

#include <cstdint>
#include <string>

#include "burden.hpp"

namespace farport::fake {

enum class Fault {
  none,
  hang,          ///< Accepts and never answers.
  garbage,       ///< Answers with bytes that are no message.
  half_answer,   ///< Answers with the first half of a header, then closes.
  close,         ///< Closes as soon as it has accepted.
  early_answer,  ///< Answers before it is asked.
  flood,         ///< Answers anything with bytes without end.
  silent,        ///< Sessions begin, and then nothing comes.
  old,           ///< Knows what .NET Core 3.1 does: no ProcessInfo, and sessions by the first two commands.
};

struct Options {
  std::string socket;     ///< The listen port; empty with `many`.
  std::string directory;  ///< Where `many` ports are made.
  int many = 0;           ///< How many runtimes, each at a default port's name.
  std::uint64_t pid = 1;
  std::string cookie;  ///< A GUID; empty: one made from the pid.
  std::string name = "fake";
  std::string command_line = "dotnet fake.dll";
  std::uint64_t stream_bytes = 0;  ///< A session's length; 0: until it is stopped.
  std::string stream_file;  ///< What sessions stream: once, or for stream_bytes; empty: bytes made here.
  std::uint64_t stream_rate = 0;  ///< Bytes that come at once each second; 0: as fast as they are read.
  std::string dump;               ///< What becomes of a dump (answer_dump()); empty: the command is unknown.
  std::string write_dump;         ///< Only writes such a dump to this path, and ends.
  std::uint64_t dump_size = 0;
  Fault fault = Fault::none;
  bool leave_socket = false;
  Burden burden;
};

/// Throws std::invalid_argument with the usage.
[[nodiscard]] Options parse_options(int argc, char** argv);

}  // namespace farport::fake
