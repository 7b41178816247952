// Firings: when which rule has fired, in a journal that outlives the agent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/journal.hpp"
#include "base/unique_fd.hpp"
#include "router/agent/rules/rule.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {

struct Firing {
  enum class State : std::uint8_t {
    under_way,
    done,        ///< All was taken.
    failed,      ///< Not all was taken: `why` says what not.
    broken_off,  ///< The agent ended meanwhile.
  };
  using Clock = std::chrono::system_clock;

  std::uint64_t number = 0;  ///< In the journal.
  std::string rule;
  std::string subject;  ///< subject_of() the runtime.
  std::string runtime_id;
  std::string runtime;     ///< Its name.
  Clock::time_point time;  ///< When it began; in the journal to the millisecond.
  std::string cause;       ///< What was seen.
  State state = State::under_way;
  std::string why{};
  std::vector<std::string> artifacts{};  ///< Their ids.
  std::uint64_t bytes = 0;               ///< What they take on the disk.
  uid_t user = 0;                        ///< Of the runtime.
};

[[nodiscard]] std::string_view to_string(Firing::State state);
[[nodiscard]] std::string to_json(const Firing& firing);
[[nodiscard]] Result<Firing> firing_from_json(std::string_view text);

/// The file: a line of JSON for each beginning and each end of a firing. Its functions may be called from any
/// thread.
class FiringJournal {
 public:
  /// Reads the file of this agent's host in the directory, makes it if it is missing, and writes it anew
  /// without what began before `oldest`. What was under way is broken off. Errors: another agent uses it, or
  /// the system's.
  static Result<std::unique_ptr<FiringJournal>> open(const std::string& directory, const std::string& host,
                                                     Firing::Clock::time_point oldest,
                                                     std::vector<Firing>& firings);
  /// Writes a line to the disk (fsync). If that fails, the file is as it was. Errors: the system's.
  [[nodiscard]] Result<void> append(const Firing& firing);
  /// Whether it is time to write the file anew.
  [[nodiscard]] bool is_long() const;
  /// Writes the file anew with these alone. Errors: the system's; then it is as it was.
  [[nodiscard]] Result<void> replace(const std::vector<Firing>& firings);

 private:
  FiringJournal(UniqueFd lock, std::unique_ptr<Journal> lines)
      : lock_(std::move(lock)), lines_(std::move(lines)) {}

  UniqueFd lock_;
  std::unique_ptr<Journal> lines_;
};

/// What is known of the past, and so what the limits allow.
class Firings {
 public:
  using Clock = Firing::Clock;

  explicit Firings(std::vector<Firing> past);

  /// Why the rule may not fire for this subject, of this user, at `now`, and when it may again. What the
  /// limits allow for all together is each user's in equal parts, as far as others want it: a user who has
  /// had less may still fire when the others have used up the rest.
  struct Limited {
    std::string why;
    std::optional<Clock::time_point> until;  ///< Empty: when something that is under way has ended.
  };
  [[nodiscard]] std::optional<Limited> limited(const Rule& rule, const std::string& subject, uid_t user,
                                               Clock::time_point now) const;
  /// Whether the rule has fired for this very runtime.
  [[nodiscard]] bool has_fired(const Rule& rule, const std::string& runtime_id) const;

  /// Adds one, which counts from now on, and gives it its number.
  Firing& begin(Firing firing);
  /// Takes one back that could not begin.
  void take_back(std::uint64_t number);
  /// The one with this number; null if it is forgotten.
  [[nodiscard]] Firing* find(std::uint64_t number);
  /// The rule's last one for this subject; null if there is none.
  [[nodiscard]] const Firing* last(const std::string& rule, const std::string& subject) const;
  /// All that are known.
  [[nodiscard]] std::vector<Firing> all() const { return {all_.begin(), all_.end()}; }
  /// How many there were in the window, for this subject.
  [[nodiscard]] std::size_t count(const Rule& rule, const std::string& subject, Clock::time_point now) const;
  /// Forgets what no limit needs any more.
  void forget_before(Clock::time_point oldest);

 private:
  std::deque<Firing> all_;  ///< The oldest first.
  std::uint64_t next_ = 1;
};

}  // namespace farport::router
