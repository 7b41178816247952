// farport doctor: finds what is wrong between here and a runtime, with hints.
#include <algorithm>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands/examine.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/finding_report.hpp"
#include "cli/setup/confine.hpp"
#include "config/resolve.hpp"

namespace farport::cli {
namespace {

using Level = Finding::Level;
using router::Diagnosis;

/// "not asked: version, access": people get one line for all skipped steps.
void report_skipped(FindingReport& report, const std::vector<std::string>& steps) {
  if (steps.empty()) return;
  report.add(Level::skipped, "not asked: " + fmt::format("{}", fmt::join(steps, ", ")));
}

void report_all(FindingReport& report, const Examined& examined, bool named) {
  std::vector<std::string> skipped;
  if (named) report.close(examined.agent + ":");
  for (const Diagnosis& each : examined.diagnoses) {
    const bool whole_step = each.finding.level == Level::skipped && !each.runtime;
    if (whole_step && !report.for_scripts()) {
      skipped.push_back(each.step);
    } else {
      report.add(each, examined.agent);
    }
  }
  report_skipped(report, skipped);
}

std::string counted(int count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string summary_of(const FindingReport& report) {
  if (report.problems() == 0 && report.warnings() == 0) return "Nothing is wrong.";
  if (report.problems() == 0) return "No problems; " + counted(report.warnings(), "warning") + ".";
  const std::string begin =
      report.problems() == 1 ? "" : " Start with the first: it may be the cause of others.";
  const std::string warnings = report.warnings() == 0 ? "" : " and " + counted(report.warnings(), "warning");
  return counted(report.problems(), "problem") + warnings + "." + begin;
}

int doctor(const config::DoctorSettings& settings) {
  FindingReport report(settings.json);
  std::vector<Examined> all;
  if (settings.remotes.empty()) {
    const Result<void> became = become_user(settings.here);
    if (!became) return cli::report(became.error(), kUsage);
    all.push_back({{}, examine_here(settings.here)});
  }
  for (const config::RemoteSettings& remote : settings.remotes) {
    std::vector<Examined> of_remote = examine_remote(remote, Depth::runtimes);
    all.insert(all.end(), std::make_move_iterator(of_remote.begin()),
               std::make_move_iterator(of_remote.end()));
  }
  for (const Examined& examined : all) report_all(report, examined, all.size() > 1);
  report.close(summary_of(report));
  return report.exit_code();
}

constexpr const char* kDoctorAbout =
    "Tries each step on the way to a runtime, in order, and reports what fails and what to do. (farport\n"
    "check validates a configuration; doctor diagnoses a live situation.) Without an AGENT it examines\n"
    "this host, as an agent with this configuration would find it. Exit code 0 without problems, else 1.";
constexpr const char* kDoctorExamples = R"(Examples:
  farport doctor                             beside the runtimes
  farport doctor --config /etc/farport/agent.toml
  farport doctor orders.example:9000         from afar
  farport doctor podman://orders
  farport doctor prod-orders --json)";

RunCommand add_doctor_options(CLI::App& options, config::Flags& flags) {
  add_remotes(options, flags);
  add_json_option(options, flags.json, "Print a JSON array with an object for each step");
  return [&flags] { return run_with(config::resolve_doctor(flags), doctor); };
}

}  // namespace

const Command kDoctor{"doctor", "Diagnose what is wrong on the way to a runtime, and what to do",
                      kDoctorAbout, kDoctorExamples, add_doctor_options};

}  // namespace farport::cli
