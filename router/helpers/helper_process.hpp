// HelperProcess: does what the process that faces the network can't or should not do itself.
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

/// Ties a helper's copy to this object. When the object is destroyed, the kernel kills the copy, even if it
/// is stopped.
class Lifeline {
 public:
  /// Takes both ends of a pipe. The copy is tied to the reading end.
  Lifeline(UniqueFd reading, UniqueFd writing) : reading_(std::move(reading)), writing_(std::move(writing)) {}
  Lifeline(Lifeline&&) = default;
  Lifeline& operator=(Lifeline&&) = delete;
  ~Lifeline() = default;

 private:
  /// Kept open, so that a copy that closes its own descriptor stays tied: the kernel sees both as one file.
  UniqueFd reading_;
  UniqueFd writing_;  ///< Destroyed first, since it is declared last.
};

/// The names of helpers, of at most 15 characters (PR_SET_NAME).
inline constexpr const char* kSamplerName = "farport-sampler";
inline constexpr const char* kReaderName = "farport-reader";
inline constexpr const char* kCommandsName = "farport-command";

/// The memory for the work of all helpers of one kind, in bytes: a quarter of what the control group allows,
/// or of 2 GiB if it has no limit.
[[nodiscard]] std::uint64_t memory_for_helpers();

/// A process that is forked before the agent, or a command, has given anything up, and waits for requests.
class HelperProcess {
 public:
  /// The most bytes of a request.
  static constexpr std::size_t kMaxRequest = 16 * 1024;
  static constexpr std::size_t kMaxDescriptors = 3;  ///< In addition to the lifeline (passed_message.hpp).

  /// What a helper does.
  struct Work {
    const char* name;               ///< The process's name, of at most 15 characters.
    std::function<void()> confine;  ///< Run first.
    /// Run for each request, in a copy of the helper, which is killed when its Lifeline or the helper ends.
    std::function<void(std::string_view request, std::vector<UniqueFd> descriptors)> run;
  };

  /// Starts the helper: a copy of this process, which must have no threads, without its open files. It ends
  /// with this object, and with this process. Errors: it can't be started.
  [[nodiscard]] static Result<HelperProcess> start(const Work& work);

  HelperProcess(HelperProcess&&) = default;
  HelperProcess& operator=(HelperProcess&&) = delete;
  /// Ends the helper, and waits for it if it is a child of this process.
  ~HelperProcess();

  /// Whether it has not ended yet.
  [[nodiscard]] bool running() const;
  /// Waits until it has ended, for whatever reason.
  transport::Task<void> ended(transport::Loop& loop) const;

  /// Has a copy of the helper handle a request, with duplicates of the descriptors. The copy ends at the
  /// latest when the Lifeline is destroyed. Errors: the helper has ended, or its queue of requests is full.
  [[nodiscard]] Result<Lifeline> begin(std::string_view request, std::vector<int> descriptors) const;

 private:
  HelperProcess(const char* name, UniqueFd requests, UniqueFd process)
      : name_(name), requests_(std::move(requests)), process_(std::move(process)) {}

  const char* name_;
  UniqueFd requests_;
  UniqueFd process_;  ///< A pidfd.
};

}  // namespace farport::router
