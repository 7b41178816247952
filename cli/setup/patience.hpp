// Waiting for a runtime that may never answer: says so in good time, and gives up in the end.
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
  /// What the runtime is asked for.
  enum class Work : std::uint8_t {
    events,
    stacks,  ///< They are looked at from outside meanwhile.
    dump,    ///< A tracer of the runtime's own, createdump, stops the process for it.
  };
  /// `session`: the runtime's, in which its agent is asked what holds it up. `say`: shows a line. All must
  /// outlive it.
  Patience(transport::Loop& loop, RuntimeSession& session, const config::PatienceSettings& settings,
           Work work, std::function<void(const std::string&)> say);
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  /// Runs `work`, which waits for an answer of the runtime's. After five seconds it is said that there is
  /// none, and why. A runtime that is busy is waited for ten times as long as the settings have it, unless
  /// a person has set that; one that gets on with nothing is not. Errors: the work's, or it has not answered
  /// (Cause::silence()): the work is cancelled then.
  template <typename T>
  transport::Task<Result<T>> wait(const router::Runtime& runtime, transport::Task<Result<T>> work) {
    answered_ = false;
    transport::TaskSet watching(loop_);
    watching.spawn(watch(runtime));
    auto result = co_await first_of(std::move(work), given_up_.wait());
    if (!result) co_return tl::unexpected(silence(runtime));
    co_return std::move(*result);
  }
  /// What the kernel knows of the runtime's process; nothing where the agent does not say in time.
  transport::Task<std::optional<router::ProcessCondition>> condition(const router::Runtime& runtime);
  /// Asks the agent whether the kernel has the runtime's process stopped or frozen, so that waiting is of no
  /// use. Returns the error to report then; nothing where the process is neither, or the agent does not say.
  transport::Task<std::optional<Error>> standstill(const router::Runtime& runtime);
  /// Passes once it has been said that there is no answer, or it is given up.
  [[nodiscard]] auto first_word() { return said_.wait(); }
  /// The work in hand has had an answer: whatever comes now may take its time.
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
  std::optional<router::ProcessCondition> condition_;  ///< Nothing: the agent does not say.
  transport::Milliseconds waited_{};
  transport::Event said_;
  transport::Event given_up_;
};

}  // namespace farport::cli
