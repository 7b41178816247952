// KeptResponse: an answer that goes into an artifact, so that nobody need wait for it.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "nettrace/framing.hpp"
#include "router/agent/artifacts/artifact_file.hpp"
#include "router/agent/artifacts/artifacts.hpp"
#include "router/agent/connections/response.hpp"
#include "router/agent/gate/limits.hpp"
#include "router/agent/stores/store.hpp"
#include "router/wire/artifact.hpp"
#include "transport/event.hpp"
#include "transport/stream.hpp"
#include "transport/task_set.hpp"

namespace farport::router {

/// A stream whose bytes become an artifact's content, here or in a store. Nothing can be read from it. It
/// seems to be gone when the artifact is dropped.
class ArtifactStream final : public transport::Stream {
 public:
  ArtifactStream(transport::Loop& loop, std::unique_ptr<ArtifactFile> file);
  ~ArtifactStream() override { cancel_write(); }

  transport::Io try_read(std::span<std::byte> into) override;
  void when_readable(transport::Wake*) override {}
  bool begin_write(transport::WriteOperation& operation) override;
  void cancel_write() override { operation_ = nullptr; }
  void when_gone(transport::Wake* wake) override;
  void abort(Error why) override;
  [[nodiscard]] const Error& error() const override { return *failure_; }

  /// From now on the content goes to this store, and is not kept. Call it before any is written. Errors: the
  /// system's, or the store can't be sent to.
  transport::Task<Result<void>> go_straight_to(std::shared_ptr<Store> store, std::uint32_t stops_for);
  /// Ends the artifact: it is whole if all was written, and else cut, for this reason if nothing else is
  /// known. Errors: the system's.
  transport::Task<Result<void>> end(std::string why_cut);
  /// Writes to the disk what has come, and shows that it is still being taken.
  transport::Task<void> refresh();
  /// Removes the artifact, and breaks off what is being taken for it.
  void drop();
  /// Breaks off what is being taken; the artifact is cut, and says why.
  void break_off(Error why);
  /// It lacks something, though it is whole.
  void lacks(std::string_view what);
  /// Why it is cut; empty if it is whole. After end().
  [[nodiscard]] const std::string& why_cut() const { return work_->file->artifact().why; }
  [[nodiscard]] const std::string& gaps() const { return gaps_; }
  /// Why it failed; null if it has not.
  [[nodiscard]] const Error* failure() const { return failure_ ? &*failure_ : nullptr; }
  [[nodiscard]] bool dropped() const { return failure_ && failure_->cause == ECANCELED; }
  /// How many older artifacts had to go for it since this was called last.
  [[nodiscard]] std::size_t take_removed();

 private:
  /// What a thread works on. It may outlive the stream.
  struct Work {
    explicit Work(std::unique_ptr<ArtifactFile> to) : file(std::move(to)) {}
    /// Held while a thread works on the file, which may go on after the stream is gone.
    std::mutex mutex{};
    std::unique_ptr<ArtifactFile> file;
    std::vector<std::byte> bytes{};
    std::size_t removed = 0;
    Result<void> done{};
  };
  transport::Task<void> write();
  transport::Task<void> append();
  transport::Task<void> give();
  transport::Task<void> end_upload();
  transport::Task<void> watch_upload();
  void complete(transport::IoStatus status);

  std::shared_ptr<Work> work_;
  std::uint64_t given_ = 0;              ///< To the store.
  std::unique_ptr<StoreUpload> upload_;  ///< Null if the content is kept here.
  nettrace::EndWatch end_;               ///< Of a content that is a nettrace stream.
  transport::WriteOperation* operation_ = nullptr;
  transport::Wake* gone_ = nullptr;
  std::optional<Error> failure_;
  std::string gaps_;             ///< See Artifact::gaps.
  bool finished_ = false;        ///< All was written, and the store has it.
  transport::Condition failed_;  ///< Changes with failure_.
  transport::TaskSet writing_;
  transport::TaskSet watching_;  ///< That the store's command lives.
};

class KeptResponse final : public Response, private WayToStore {
 public:
  /// `store` is one that may get the content while it is being made, or null. `place`: of the caller, for as
  /// long as this lives.
  KeptResponse(transport::Loop& loop, transport::MessageHead request,
               std::shared_ptr<const Artifacts> artifacts, std::unique_ptr<ArtifactFile> file,
               std::shared_ptr<Store> store, RoomFor whose, Places::Place place);

  [[nodiscard]] const transport::MessageHead& request() const override { return request_; }
  [[nodiscard]] transport::Stream& stream() override { return stream_; }
  void send_head(int status, transport::HeaderFields fields, bool body) override;
  bool take_refusal(Refusal& refusal) override;
  void lacks(std::string what) override { stream_.lacks(what); }
  WayToStore* way_to_store() override { return store_ == nullptr ? nullptr : this; }

  [[nodiscard]] const Artifact& artifact() const { return artifact_; }
  /// Passes once it is known whether something is taken: at once if it was refused.
  [[nodiscard]] transport::Event::Wait decided() { return decided_.wait(); }
  /// Nothing is taken. If the caller has been told otherwise, the artifact says why, and else it is dropped.
  void refuse(Refusal refusal);
  /// The caller has been told that it is taken.
  void set_told() { told_ = true; }
  [[nodiscard]] const std::optional<Refusal>& refused() const { return refused_; }
  [[nodiscard]] ArtifactStream& content() { return stream_; }

 private:
  [[nodiscard]] const std::string& store() const override { return store_->name(); }
  [[nodiscard]] std::uint64_t rate() const override { return store_->rate(); }
  transport::Task<Result<std::shared_ptr<void>>> hold(UniqueFd reading) override;
  transport::Task<bool> has_room_here(std::uint64_t bytes) override;
  transport::Task<Result<void>> take(std::chrono::seconds expected) override;

  transport::MessageHead request_;
  std::shared_ptr<const Artifacts> artifacts_;
  std::shared_ptr<Store> store_;
  Artifact artifact_;
  RoomFor whose_;
  ArtifactStream stream_;
  transport::Event decided_;
  std::optional<Refusal> refused_;
  bool told_ = false;
  Places::Place place_;
};

/// All answers that are being kept.
class KeptAnswers {
 public:
  /// `artifacts` is null if the agent keeps nothing.
  KeptAnswers(transport::Loop& loop, Log log, std::shared_ptr<const Artifacts> artifacts,
              std::vector<std::shared_ptr<Store>> stores);

  /// Begins one, in an agent that keeps something. Refused if too many are under way, or there is no room.
  transport::Task<tl::expected<std::shared_ptr<KeptResponse>, Refusal>> begin(transport::MessageHead request,
                                                                              Artifact artifact,
                                                                              RoomFor whose,
                                                                              const Caller& caller);
  /// Runs what handles the request, and ends the artifact after it. `owner` keeps alive what that uses.
  void run(std::shared_ptr<KeptResponse> response, transport::Task<std::optional<Refusal>> handled,
           std::shared_ptr<void> owner) {
    tasks_.spawn(keep(std::move(response), std::move(handled), std::move(owner)));
  }
  /// Breaks one off and removes it. Returns whether it was under way here.
  transport::Task<bool> drop(std::string id);
  /// Breaks one off that is under way here.
  void break_off(const std::string& id, std::string why);
  /// Waits until this one is not under way here.
  transport::Task<void> ended(std::string id);
  /// Waits until none is under way.
  transport::Task<void> idle() { return tasks_.idle(); }
  void clear();

 private:
  transport::Task<void> keep(std::shared_ptr<KeptResponse> response,
                             transport::Task<std::optional<Refusal>> handled, std::shared_ptr<void> owner);
  transport::Task<void> refresh(KeptResponse& response);
  void tell(KeptResponse& response, const Result<void>& ended) const;
  void tell_removed(std::size_t removed) const;

  transport::Loop& loop_;
  Log log_;
  std::shared_ptr<const Artifacts> artifacts_;
  std::vector<std::shared_ptr<Store>> stores_;
  Places places_;
  std::map<std::string, KeptResponse*, std::less<>> under_way_;  ///< By their ids.
  transport::Condition ended_;                                   ///< Changes when one has ended.
  transport::TaskSet tasks_;
};

}  // namespace farport::router
