// What an examination says: step by step, in the order in which a person would ask. The agent tells its part
// in answer to GET /v1/doctor.
#pragma once

#include <cstdint>
#include <ctime>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/error.hpp"
#include "base/finding.hpp"

namespace farport::router {

// What discovery has searched, what it has found there and cannot use, and what to do about it: the answer to
// "why is the list empty?"

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

/// The words of steps, which are stable.
namespace step {
inline constexpr std::string_view kName = "name";                ///< Is the agent's name known?
inline constexpr std::string_view kConnect = "connect";          ///< Does its port answer?
inline constexpr std::string_view kReach = "reach";              ///< Does the command lead to an agent?
inline constexpr std::string_view kClock = "clock";              ///< Have both hosts the same time?
inline constexpr std::string_view kCertificate = "certificate";  ///< Is ours one that can be shown?
inline constexpr std::string_view kSession = "session";          ///< Do both sides accept each other?
inline constexpr std::string_view kVersion = "version";          ///< Are both of one version?
inline constexpr std::string_view kAccess = "access";            ///< May we do anything?
inline constexpr std::string_view kSearch = "search";            ///< Can it look where it is to look?
inline constexpr std::string_view kProcess = "process";          ///< Is there any .NET process?
inline constexpr std::string_view kSocket = "socket";            ///< Can its socket be seen?
inline constexpr std::string_view kOpen = "open";                ///< May the socket be opened?
inline constexpr std::string_view kAnswer = "answer";            ///< Does it answer?
inline constexpr std::string_view kDump = "dump";                ///< May it be dumped?
inline constexpr std::string_view kProfile = "profile";          ///< May it be profiled by the kernel?
}  // namespace step

/// The steps that an agent takes.
inline constexpr std::string_view kAgentSteps[] = {step::kSearch, step::kProcess, step::kSocket, step::kOpen,
                                                   step::kAnswer, step::kDump,    step::kProfile};

struct DiagnosedRuntime {
  std::string id;
  std::string name;
  std::uint64_t pid = 0;
};

struct Diagnosis {
  std::string step;
  Finding finding{};
  std::optional<DiagnosedRuntime> runtime{};  ///< Nothing: it is about no runtime in particular.
  /// Of a runtime: what is said of several to those who may know no more: "can't be dumped: …".
  std::string summary{};
};

/// What discovery has found, for a caller that sees so many runtimes. Steps that nothing is wrong with have
/// one diagnosis at the most. Bounded in number and size.
[[nodiscard]] std::vector<Diagnosis> diagnoses_of(const DiscoveryReport& report, std::size_t seen,
                                                  Disclosure disclosure);

/// Diagnoses of runtimes as they are told: in the order of their steps, and where only counts may be told,
/// one for all of which the same is said.
[[nodiscard]] std::vector<Diagnosis> as_told(std::vector<Diagnosis> of_runtimes, Disclosure disclosure);

/// The answer to GET /v1/doctor.
struct DoctorAnswer {
  std::string version;  ///< The agent's.
  std::time_t time = 0;
  std::vector<Diagnosis> diagnoses;
};
[[nodiscard]] std::string to_json(const DoctorAnswer& answer);

/// Reads it. What it holds is the agent's text: bounded, not escaped. Steps and levels of later versions are
/// left out. Errors: it is no such answer.
[[nodiscard]] Result<DoctorAnswer> doctor_answer_from_json(std::string_view body);

}  // namespace farport::router
