// Takes a profile of a remote process's time on the processor.
#pragma once

#include <optional>

#include "cli/setup/patience.hpp"
#include "cli/terminal/progress_line.hpp"
#include "cli/setup/runtime_session.hpp"
#include "profile/profile.hpp"
#include "router/collect/cpu_profile.hpp"
#include "router/collect/recording.hpp"

namespace farport::cli {

class CpuProfiling {
 public:
  /// All must outlive it. `settings` has a duration.
  CpuProfiling(transport::Loop& loop, const router::ReaderProcess& readers,
               const router::MirroredAgent& agent, const config::ProfileSettings& settings);
  CpuProfiling(const CpuProfiling&) = delete;
  CpuProfiling& operator=(const CpuProfiling&) = delete;

  /// Until the time is over, the process ends, or `stop` is set; that once more breaks it off. Errors: the
  /// runtime isn't found (ESRCH), or the agent can't or may not sample it.
  transport::Task<Result<profile::Profile>> run(transport::StopSource& stop);
  /// Why the runtime may not have been found: see RuntimeSession.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return session_.explanation(); }

 private:
  transport::Task<Result<profile::Profile>> take(transport::StopSource& stop);
  transport::Task<Result<void>> receive(router::CpuProfile& taken, transport::StopSource& stop);
  transport::Task<void> stop_early(router::CpuProfile& taken, transport::StopSource& stop);
  transport::Task<profile::Profile> name_all(router::CpuSamples& samples, const router::Runtime& runtime,
                                             transport::StopSource& stop);
  transport::Task<Result<void>> ask_names(const router::Runtime& runtime, const router::CpuSamples& samples,
                                          router::NamedMethods& names);
  transport::Task<std::vector<std::string>> search_symbols(router::CpuSamples& samples,
                                                           const router::CpuSamples::NameManaged& managed,
                                                           transport::StopSource& stop);

  transport::Loop& loop_;
  const router::ReaderProcess& readers_;
  const config::ProfileSettings& settings_;
  ProgressLine progress_;
  RuntimeSession session_;  ///< Outlives the work, so that the agent can be told when that is cancelled.
  Patience patience_;
  bool stopped_early_ = false;  ///< By Ctrl-C.
  transport::Event broken_off_;
};

}  // namespace farport::cli
