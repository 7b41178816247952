// What an examination says: step by step, in the order in which a person would ask. The agent tells its part
// in answer to GET /v1/doctor.
#pragma once

#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/finding.hpp"
#include "router/wire/discovery_report.hpp"

namespace farport::router {

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
