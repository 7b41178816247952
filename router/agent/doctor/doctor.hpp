// Doctor: tries out whether an agent's runtimes can be used, and says what is wrong and what to do.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "router/agent/doctor/dump_check.hpp"
#include "router/agent/dumps/dump_directory.hpp"
#include "router/agent/runtimes/discovery.hpp"
#include "router/agent/runtimes/user_shares.hpp"
#include "router/wire/diagnosis.hpp"
#include "transport/share.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

class Doctor {
 public:
  Doctor(transport::Loop& loop, Registry& registry, const Discovery& discovery, DumpLooks dump);
  Doctor(const Doctor&) = delete;
  Doctor& operator=(const Doctor&) = delete;
  ~Doctor();

  /// Diagnoses of the search alone, for a caller who sees these runtimes.
  [[nodiscard]] std::vector<Diagnosis> examine_search(const Registry::Filter& seen,
                                                      Disclosure disclosure) const;

  /// Examines the search and each runtime: asks it something, makes a directory for a dump, and so on. One
  /// look at a runtime serves all who ask within a few seconds, and takes its turn among those of its user.
  /// Waits at most ten seconds for the looks, and then for the turn of `share`, the caller's share of the
  /// loop.
  transport::Task<std::vector<Diagnosis>> examine(Registry::Filter seen, Disclosure disclosure,
                                                  transport::Share& share);

 private:
  /// An examination of one runtime.
  struct Look;
  using LookPtr = std::shared_ptr<Look>;
  [[nodiscard]] LookPtr look_of(const Runtime& runtime);
  transport::Task<void> look_at(Runtime runtime, LookPtr look);
  transport::Task<Verdict> try_answer(Runtime runtime);
  transport::Task<void> look_at_process(Runtime runtime, LookPtr look, bool answers);

  transport::Loop& loop_;
  Registry& registry_;
  const Discovery& discovery_;
  DumpLooks dump_;
  ProbeSlots slots_;
  ProcessLooks process_looks_;
  std::map<std::string, LookPtr, std::less<>> looks_;  ///< By the runtime's id.
  transport::TaskSet tasks_;
};

}  // namespace farport::router
