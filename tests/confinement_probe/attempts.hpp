// What a confined process tries: what an agent does, and what somebody would do who has taken it over.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace farport::probe {

/// Where it tries.
struct Places {
  std::string readable;   ///< A directory to read in.
  std::string writable;   ///< One to make files in and write them.
  std::string exchanged;  ///< One where others write files.
  std::string outside;    ///< One that no rule names.
  std::string sockets;    ///< A Unix socket's path, outside too.
  int tcp = -1;           ///< A TCP socket from before.
  pid_t other = 1;        ///< Another process, in its pid namespace the first.
};

struct Attempt {
  std::string name;
  /// Returns 0, or a positive errno value.
  std::function<int()> attempt;
};

/// Files that the attempts use: "file" in the directories to read in and outside.
void prepare(const Places& places);

[[nodiscard]] std::vector<Attempt> attempts(const Places& places);

/// What a process may do or not, as docs/security.md has it in its table, by what is tried for it.
struct Promise {
  const char* what;
  std::vector<const char*> attempts;  ///< By their names. They come to the same.
};
[[nodiscard]] std::vector<Promise> promises();

}  // namespace farport::probe
