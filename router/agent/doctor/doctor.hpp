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
  /// `samples`: whether the process runs that takes profiles; null: none is needed.
  Doctor(transport::Loop& loop, Registry& registry, const Discovery& discovery, DumpSettings dump,
         std::function<bool()> samples);
  Doctor(const Doctor&) = delete;
  Doctor& operator=(const Doctor&) = delete;
  ~Doctor();

  /// Of this process: to be called once it has confined itself.
  void confined_by(OwnConfinement own) { own_ = own; }

  /// What can be said to one who sees these runtimes: of the search alone.
  [[nodiscard]] std::vector<Diagnosis> examine_search(const Registry::Filter& seen,
                                                      Disclosure disclosure) const;

  /// The same, and each runtime is tried out: it is asked something, a directory for a dump is made, and so
  /// on. One look at a runtime serves all who ask within a few seconds, and takes its turn among its user's.
  /// Passes after ten seconds at the latest, and when it is `share`'s turn: that of whoever asks.
  transport::Task<std::vector<Diagnosis>> examine(Registry::Filter seen, Disclosure disclosure,
                                                  transport::Share& share);

 private:
  /// At one runtime.
  struct Look;
  using LookPtr = std::shared_ptr<Look>;
  [[nodiscard]] LookPtr look_of(const Runtime& runtime);
  transport::Task<void> look_at(Runtime runtime, LookPtr look);
  transport::Task<Verdict> try_answer(Runtime runtime);
  transport::Task<void> look_at_process(Runtime runtime, LookPtr look, bool answers);

  transport::Loop& loop_;
  Registry& registry_;
  const Discovery& discovery_;
  DumpSettings dump_;
  std::function<bool()> samples_;
  OwnConfinement own_;
  ProbeSlots slots_;
  ProcessLooks process_looks_;
  std::map<std::string, LookPtr, std::less<>> looks_;  ///< By the runtime's id.
  transport::TaskSet tasks_;
};

}  // namespace farport::router
