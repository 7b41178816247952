// Store: one of the operator's stores, which commands put things into.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "router/agent/artifacts/artifacts.hpp"
#include "router/agent/commands/command_process.hpp"
#include "router/wire/artifact.hpp"
#include "transport/loop.hpp"
#include "transport/stream.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// A store, and which of the helper's commands it has.
struct StoreSettings {
  ArtifactStore store;
  std::size_t command = 0;            ///< Gets an artifact as its input.
  std::optional<std::size_t> check;   ///< Prints how many bytes the store has; empty: its word counts.
  transport::Milliseconds timeout{};  ///< How long a command may take nothing, or not end.
  bool streams = false;               ///< Whether it may get a dump while that is being written.
  std::uint64_t rate = 1;             ///< Bytes that it takes in a second, until that was measured.
};

/// What a command is told of an artifact: config::kStoreVariables. `file` is the name to store it under.
[[nodiscard]] CommandVariables variables_of(const Artifact& artifact, const std::string& file);

class StoreUpload;

class Store : public std::enable_shared_from_this<Store> {
 public:
  Store(transport::Loop& loop, StoreSettings settings, std::shared_ptr<const CommandProcess> commands)
      : loop_(loop), settings_(std::move(settings)), commands_(std::move(commands)), rate_(settings_.rate) {}

  [[nodiscard]] const ArtifactStore& about() const { return settings_.store; }
  [[nodiscard]] const std::string& name() const { return settings_.store.name; }
  /// Whether it may get such an artifact while that is being made.
  [[nodiscard]] bool streams(const Artifact& artifact) const {
    return settings_.streams && settings_.store.takes(artifact.kind);
  }
  /// Bytes that it takes in a second: as it did last, or as configured.
  [[nodiscard]] std::uint64_t rate() const { return rate_; }

  /// Notes how long it took to take so many bytes as fast as it could.
  void note_taken(std::uint64_t bytes, std::chrono::duration<double> took);

  /// Begins to put an artifact's content there. `given` counts the bytes that were written to it, and must
  /// outlive the result. Errors: the helper has ended.
  [[nodiscard]] Result<std::unique_ptr<StoreUpload>> begin(const Artifact& artifact,
                                                           const std::uint64_t& given);
  /// See CommandProcess::hold().
  transport::Task<Result<HeldPipe>> hold(UniqueFd reading) const {
    return commands_->hold(loop_, std::move(reading));
  }
  /// Puts a short text there. Errors: the store does not have it, and why.
  transport::Task<Result<void>> put(const Artifact& artifact, std::string file, std::string text);

 private:
  friend class StoreUpload;

  [[nodiscard]] tl::unexpected<Error> failed(std::string why) const {
    return fail("send it to", name(), std::move(why));
  }
  transport::Task<Result<void>> check(CommandVariables variables, std::uint64_t bytes);
  transport::Task<Result<CommandResult>> run(std::size_t command, CommandVariables variables,
                                             std::string input);
  transport::Task<void> watch(RunningCommand& command, const std::uint64_t& given);

  transport::Loop& loop_;
  StoreSettings settings_;
  std::shared_ptr<const CommandProcess> commands_;
  std::uint64_t rate_;
};

/// A content on its way into a store. If this is destroyed before it is stored, the command is killed before
/// its input ends, so that the store has nothing under this name.
class StoreUpload {
 public:
  StoreUpload(std::shared_ptr<Store> store, std::unique_ptr<RunningCommand> command,
              const std::uint64_t& given);

  /// Takes the content. It ends with finish(), if it is whole.
  [[nodiscard]] transport::Stream& stream() { return command_->input(); }
  /// From now on gives the command up if it takes nothing for the store's timeout.
  void watch();
  /// Fails with this error, also if it waits for the command's end.
  void give_up(const Error& why) { command_->give_up(why); }
  /// After that waits until the store has it all, and asks the store how much it has. Errors: why it has not.
  transport::Task<Result<void>> stored(Artifact artifact);
  /// After stream() has broken: why, as the command says it, or else `otherwise`.
  transport::Task<Error> why_broken(std::string otherwise);

 private:
  std::shared_ptr<Store> store_;
  std::unique_ptr<RunningCommand> command_;
  const std::uint64_t& given_;
  transport::TaskSet watching_;
};

}  // namespace farport::router
