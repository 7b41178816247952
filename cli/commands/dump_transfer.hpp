// A dump on its way: an agent takes it of one of its runtimes, and it comes here or stays there.
#pragma once

#include <optional>
#include <string>

#include "cli/setup/patience.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "cli/setup/runtime_session.hpp"
#include "config/settings.hpp"

namespace farport::cli {

class DumpTransfer {
 public:
  /// All must outlive the transfer.
  DumpTransfer(transport::Loop& loop, const router::MirroredAgent& agent,
               const config::DumpCommandSettings& settings)
      : settings_(settings),
        session_(loop, agent, settings.session,
                 [this](const Error& why) { bar_.interrupted(why.message()); }),
        patience_(loop, session_, settings.patience, Patience::Work::dump,
                  [this](const std::string& line) { bar_.say(line); }) {}
  DumpTransfer(const DumpTransfer&) = delete;
  DumpTransfer& operator=(const DumpTransfer&) = delete;

  /// Runs until the dump is there, and returns its path; nothing where it was stopped before: the
  /// agent has been told then. Errors: the runtime isn't found (ESRCH), the agent refuses, the file can't be
  /// written.
  transport::Task<std::optional<Result<std::string>>> run(transport::StopSource& stop);
  /// Why the runtime may not have been found: see RuntimeSession.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return session_.explanation(); }

 private:
  transport::Task<Result<std::string>> transfer();
  transport::Task<Result<std::string>> receive(router::Runtime runtime);

  const config::DumpCommandSettings& settings_;
  ProgressBar bar_;
  RuntimeSession session_;  ///< Outlives the work, so that the agent can be told when that is cancelled.
  Patience patience_;
};

}  // namespace farport::cli
