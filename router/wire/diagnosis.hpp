// Diagnoses: what an examination finds, step by step in the order in which a person would ask; and what
// discovery could not use.
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

/// Why a runtime that may exist is not listed.
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

/// Its name in JSON, such as "foreign_socket".
[[nodiscard]] std::string_view to_string(DiscoveryIssue issue);

/// For example "2 sockets belong to another user than the agent's". Contains no names.
[[nodiscard]] std::string summary_of(DiscoveryIssue issue, std::uint64_t count);

/// Something that discovery has found and can't use, why, and what to do about it.
struct DiscoveryProblem {
  DiscoveryIssue issue = DiscoveryIssue::other;
  std::string about;  ///< A path, or "process 17".
  uid_t user = 0;     ///< Its owner.
  std::string why;
  std::string hint;

  /// For example "/tmp/dotnet-diagnostic-…: it belongs to user 1654; run …".
  [[nodiscard]] std::string message() const;
  bool operator==(const DiscoveryProblem&) const = default;
};

/// Makes a problem from an error about a socket or a directory.
[[nodiscard]] DiscoveryProblem problem_of(DiscoveryIssue issue, uid_t user, const Error& error);

/// Everything that discovery knows now. Each source replaces its own earlier problems.
class DiscoveryReport {
 public:
  explicit DiscoveryReport(std::vector<std::string> searched = {}) : searched_(std::move(searched)) {}

  /// The problems of the search directories, by the last scan.
  void set_scan(std::vector<DiscoveryProblem> problems) { scan_ = std::move(problems); }
  /// The problems of processes in /proc.
  void set_processes(std::vector<DiscoveryProblem> problems) { processes_ = std::move(problems); }
  /// The problem of one socket that is followed.
  void set_socket(const std::string& path, DiscoveryProblem problem) { sockets_[path] = std::move(problem); }

  [[nodiscard]] const std::vector<std::string>& searched() const { return searched_; }
  [[nodiscard]] std::vector<DiscoveryProblem> problems() const;

 private:
  std::vector<std::string> searched_;
  std::vector<DiscoveryProblem> scan_;
  std::vector<DiscoveryProblem> processes_;
  std::map<std::string, DiscoveryProblem> sockets_;
};

/// How much a caller may learn.
enum class Disclosure : std::uint8_t {
  counts,  ///< Only the kinds of problems and their numbers.
  all,     ///< Also the names of directories, sockets, processes and users.
};

/// The entry among the searched directories that stands for looking into every process.
inline constexpr std::string_view kSearchProcesses = "proc";

/// The JSON for GET /v1/agent (docs/developers/wire.md). Its size is bounded, however many problems there
/// are.
[[nodiscard]] std::string to_json(const DiscoveryReport& report, Disclosure disclosure);

/// The names of the steps, which never change.
namespace step {
inline constexpr std::string_view kName = "name";                ///< Can the agent's name be resolved?
inline constexpr std::string_view kConnect = "connect";          ///< Does its port answer?
inline constexpr std::string_view kReach = "reach";              ///< Does the command lead to an agent?
inline constexpr std::string_view kClock = "clock";              ///< Do both hosts have the same time?
inline constexpr std::string_view kCertificate = "certificate";  ///< Can our certificate be used?
inline constexpr std::string_view kSession = "session";          ///< Do both sides accept each other?
inline constexpr std::string_view kVersion = "version";          ///< Do both sides have the same version?
inline constexpr std::string_view kAccess = "access";            ///< May we do anything?
inline constexpr std::string_view kSearch = "search";            ///< Can the agent look where it should?
inline constexpr std::string_view kProcess = "process";          ///< Is there any .NET process?
inline constexpr std::string_view kSocket = "socket";            ///< Can its socket be seen?
inline constexpr std::string_view kOpen = "open";                ///< May the socket be opened?
inline constexpr std::string_view kAnswer = "answer";            ///< Does it answer?
inline constexpr std::string_view kDump = "dump";                ///< May it be dumped?
inline constexpr std::string_view kProfile = "profile";          ///< May it be profiled by the kernel?
}  // namespace step

/// The steps that an agent examines.
inline constexpr std::string_view kAgentSteps[] = {step::kSearch, step::kProcess, step::kSocket, step::kOpen,
                                                   step::kAnswer, step::kDump,    step::kProfile};

/// The runtime that a diagnosis is about.
struct DiagnosedRuntime {
  std::string id;
  std::string name;
  std::uint64_t pid = 0;
};

/// The result of one step, for one runtime or in general.
struct Diagnosis {
  std::string step;
  Finding finding{};
  std::optional<DiagnosedRuntime> runtime{};  ///< Nothing if it is about no runtime in particular.
  /// For a runtime: the text without names, which is counted for callers who may not learn more: "can't be
  /// dumped: …".
  std::string summary{};
};

/// The diagnoses of what discovery has found, for a caller who sees `seen` runtimes. A step without problems
/// has at most one. Bounded in number and size.
[[nodiscard]] std::vector<Diagnosis> diagnoses_of(const DiscoveryReport& report, std::size_t seen,
                                                  Disclosure disclosure);

/// The diagnoses of runtimes as a caller may see them, in the order of their steps. If only counts are
/// disclosed, those with the same summary become one.
[[nodiscard]] std::vector<Diagnosis> as_told(std::vector<Diagnosis> of_runtimes, Disclosure disclosure);

/// The answer to GET /v1/doctor.
struct DoctorAnswer {
  std::string version;  ///< The agent's version.
  std::time_t time = 0;
  std::vector<Diagnosis> diagnoses;
};
[[nodiscard]] std::string to_json(const DoctorAnswer& answer);

/// Parses that answer. Its texts are the agent's: they are bounded, but not escaped. Steps and levels that
/// are unknown here are left out. Errors: the text is no such answer.
[[nodiscard]] Result<DoctorAnswer> doctor_answer_from_json(std::string_view body);

}  // namespace farport::router
