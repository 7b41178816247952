// Patience: waits for a runtime that may never answer, reports that in time, and gives up in the end.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/setup/runtime_session.hpp"
#include "config/settings.hpp"
#include "router/wire/runtime.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"

namespace farport::cli {

class Patience {
 public:
  /// What the runtime was asked for.
  enum class Work : std::uint8_t {
    events,
    stacks,  ///< May be sampled from outside meanwhile.
    dump,    ///< createdump stops the process to write it.
  };
  /// `session`: used to ask the runtime's agent why it is silent. `say`: shows a line. All arguments must
  /// outlive this.
  Patience(transport::Loop& loop, RuntimeSession& session, const config::PatienceSettings& settings,
           Work work, std::function<void(const std::string&)> say);
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  /// Runs `work`, which waits for the runtime's answer. After five seconds it reports that there is none, and
  /// why. A busy runtime gets ten times the limit in the settings, unless the user has set that; an idle one
  /// does not. Fails with the work's error, or with Cause::silence() at the limit; the work is then
  /// cancelled.
  template <typename T>
  transport::Task<Result<T>> wait(const router::Runtime& runtime, transport::Task<Result<T>> work) {
    answered_ = false;
    transport::TaskSet watching(loop_);
    watching.spawn(watch(runtime));
    auto result = co_await first_of(std::move(work), given_up_.wait());
    if (!result) co_return tl::unexpected(silence(runtime));
    co_return std::move(*result);
  }
  /// What the kernel knows about the runtime's process; empty if the agent does not tell in time.
  transport::Task<std::optional<router::ProcessCondition>> condition(const router::Runtime& runtime);
  /// Asks the agent whether the runtime's process is stopped or frozen, so that waiting is useless. Returns
  /// the error to report; empty if it is neither or the agent does not tell.
  transport::Task<std::optional<Error>> check_stopped(const router::Runtime& runtime);
  /// Passes once the missing answer was reported, or the wait was given up.
  [[nodiscard]] auto first_word() { return said_.wait(); }
  /// The current work has had an answer; the rest may take its time.
  void answered() { answered_ = true; }

 private:
  transport::Task<void> watch(router::Runtime runtime);
  transport::Task<void> look(const router::Runtime& runtime);
  void say_what_is(const router::Runtime& runtime);
  [[nodiscard]] bool is_busy() const;
  [[nodiscard]] Error silence(const router::Runtime& runtime) const;

  transport::Loop& loop_;
  RuntimeSession& session_;
  const config::PatienceSettings& settings_;
  Work work_;
  std::function<void(const std::string&)> say_;
  bool answered_ = false;
  std::optional<router::ProcessCondition> condition_;  ///< Empty: the agent does not tell.
  transport::Milliseconds waited_{};
  transport::Event said_;
  transport::Event given_up_;
};

}  // namespace farport::cli
