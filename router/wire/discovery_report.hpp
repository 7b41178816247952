// What discovery has searched, what it has found there and cannot use, and what to do about it: the answer to
// "why is the list empty?"
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"

namespace farport::router {

/// Why a runtime that may be there is not listed.
enum class DiscoveryIssue : std::uint8_t {
  no_directory,      ///< A search directory is not there.
  closed_directory,  ///< A search directory may not be read.
  foreign_socket,    ///< A socket of another user than the agent's.
  stale_socket,      ///< A socket whose process has ended.
  not_a_socket,      ///< A file or link named like a socket.
  silent_runtime,    ///< A process listens and doesn't answer as a runtime does.
  diagnostics_off,   ///< A .NET process that has its diagnostics switched off.
  socket_elsewhere,  ///< A .NET process whose socket is in no search directory.
  out_of_reach,      ///< A .NET process that may not be looked into.
  starting,          ///< A .NET process that has just started, and may get its socket yet.
  other,
};

/// "foreign_socket", as it is in JSON.
[[nodiscard]] std::string_view to_string(DiscoveryIssue issue);

/// "2 sockets belong to another user than the agent's": without any name.
[[nodiscard]] std::string summary_of(DiscoveryIssue issue, std::uint64_t count);

struct DiscoveryProblem {
  DiscoveryIssue issue = DiscoveryIssue::other;
  std::string about;  ///< A path, or "process 17".
  uid_t user = 0;     ///< Whose it is.
  std::string why;
  std::string hint;

  /// "/tmp/dotnet-diagnostic-…: it belongs to user 1654; run …".
  [[nodiscard]] std::string message() const;
  bool operator==(const DiscoveryProblem&) const = default;
};

/// The problem that an error of a socket or a directory stands for.
[[nodiscard]] DiscoveryProblem problem_of(DiscoveryIssue issue, uid_t user, const Error& error);

/// What is known now. Each source replaces what it said before.
class DiscoveryReport {
 public:
  explicit DiscoveryReport(std::vector<std::string> searched = {}) : searched_(std::move(searched)) {}

  /// Of the search directories, as they were at the last scan.
  void set_scan(std::vector<DiscoveryProblem> problems) { scan_ = std::move(problems); }
  /// Of the processes in /proc.
  void set_processes(std::vector<DiscoveryProblem> problems) { processes_ = std::move(problems); }
  /// Of one socket that is followed.
  void set_socket(const std::string& path, DiscoveryProblem problem) { sockets_[path] = std::move(problem); }
  void clear_socket(const std::string& path) { sockets_.erase(path); }

  [[nodiscard]] const std::vector<std::string>& searched() const { return searched_; }
  [[nodiscard]] std::vector<DiscoveryProblem> problems() const;

 private:
  std::vector<std::string> searched_;
  std::vector<DiscoveryProblem> scan_;
  std::vector<DiscoveryProblem> processes_;
  std::map<std::string, DiscoveryProblem> sockets_;
};

/// How much a caller may know.
enum class Disclosure : std::uint8_t {
  counts,  ///< The kinds of problems and how many there are of each.
  all,     ///< Names of directories, sockets, processes and users, too.
};

/// What stands among the searched directories for a look into every process.
inline constexpr std::string_view kSearchProcesses = "proc";

/// For GET /v1/agent (docs/wire.md). Bounded in size, however many problems there are.
[[nodiscard]] std::string to_json(const DiscoveryReport& report, Disclosure disclosure);

}  // namespace farport::router
