// A dump on its way: an agent takes it of one of its runtimes, and it comes here or stays there.
#pragma once

#include <optional>
#include <string>

#include "cli/find_runtime.hpp"
#include "cli/progress_bar.hpp"
#include "config/settings.hpp"

namespace farport::cli {

class DumpTransfer {
 public:
  /// All must outlive the transfer.
  DumpTransfer(transport::Loop& loop, const router::MirroredAgent& agent,
               const config::DumpCommandSettings& settings)
      : loop_(loop), log_(make_silent_log()), agent_(agent), settings_(settings) {}
  DumpTransfer(const DumpTransfer&) = delete;
  DumpTransfer& operator=(const DumpTransfer&) = delete;

  /// Runs until the dump is there, and returns its path; nothing where `interrupted` was set before: the
  /// agent has been told then. Errors: the runtime isn't found (ESRCH), the agent refuses, the file can't be
  /// written.
  transport::Task<std::optional<Result<std::string>>> run(transport::Event& interrupted);
  /// What there is instead, where the runtime has not been found.
  [[nodiscard]] Missing missing() const { return missing_; }

 private:
  transport::Task<Result<std::string>> transfer();
  [[nodiscard]] std::unique_ptr<router::AgentRoute> route_to(
      const std::vector<transport::Address>& addresses);
  transport::Task<Result<std::string>> receive(router::Runtime runtime);

  transport::Loop& loop_;
  Log log_;
  const router::MirroredAgent& agent_;
  const config::DumpCommandSettings& settings_;
  ProgressBar bar_;
  Missing missing_ = Missing::everything;
  // What carries it outlives the work, so that the agent can be told when it is cancelled.
  std::optional<router::CredentialWatch> credentials_;
  std::optional<router::SessionManager> sessions_;
  transport::Task<void> dialling_;
};

}  // namespace farport::cli
