// A process that is there before the agent, or a command, has given anything up, and does for it what that
// one, which faces the network, can't or should not do itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "transport/task.hpp"

namespace farport::transport {
class Loop;
}

namespace farport::router {

/// Ties a helper's copy to this object: when the object is destroyed, the kernel kills the copy, even a
/// stopped one.
class Lifeline {
 public:
  /// The ends of a pipe, whose reading end a process is tied to.
  Lifeline(UniqueFd reading, UniqueFd writing) : reading_(std::move(reading)), writing_(std::move(writing)) {}
  Lifeline(Lifeline&&) = default;
  Lifeline& operator=(Lifeline&&) = delete;
  ~Lifeline() = default;

 private:
  /// Kept, so that a process that closes its own is tied all the same: the kernel has both for one.
  UniqueFd reading_;
  UniqueFd writing_;  ///< Goes first.
};

/// What helpers are called: at most 15 characters (PR_SET_NAME).
inline constexpr const char* kSamplerName = "farport-sampler";
inline constexpr const char* kReaderName = "farport-reader";

/// For the work of all helpers of one kind: a quarter of what the control group allows, in bytes; of 2 GiB
/// where it allows all.
[[nodiscard]] std::uint64_t memory_for_helpers();

class HelperProcess {
 public:
  /// What a request may have at most.
  static constexpr std::size_t kMostRequest = 16 * 1024;
  static constexpr std::size_t kMostDescriptors = 3;  ///< Beside its lifeline.

  struct Work {
    const char* name;               ///< Of the process, for ps(1): 15 characters at most.
    std::function<void()> confine;  ///< Run first.
    /// Run in a copy of the process for each request. Not for long after the agent: it is killed with it.
    std::function<void(std::string_view request, std::vector<UniqueFd> descriptors)> run;
  };

  /// Starts it: a copy of this process, which must have no threads, without any of its files. It ends with
  /// this object, and with this process. Errors: there can be none.
  [[nodiscard]] static Result<HelperProcess> start(const Work& work);

  HelperProcess(HelperProcess&&) = default;
  HelperProcess& operator=(HelperProcess&&) = delete;
  /// Ends it, and waits for it if it is a child of this process.
  ~HelperProcess();

  /// Whether it has not ended.
  [[nodiscard]] bool running() const;
  /// Passes when it has ended, whatever has ended it.
  transport::Task<void> ended(transport::Loop& loop) const;

  /// Has it see to a request; the copy, which ends with what this returns at the latest, gets duplicates of
  /// the descriptors. Errors: it is gone, or has not taken the requests before.
  [[nodiscard]] Result<Lifeline> begin(std::string_view request, std::vector<int> descriptors) const;

 private:
  HelperProcess(const char* name, UniqueFd requests, UniqueFd process)
      : name_(name), requests_(std::move(requests)), process_(std::move(process)) {}

  const char* name_;
  UniqueFd requests_;
  UniqueFd process_;  ///< A pidfd.
};

}  // namespace farport::router
