#include "router/agent/api/kept_response.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "router/agent/api/sending.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Io;
using transport::IoStatus;
using transport::Task;

constexpr std::size_t kMaxKept = 8;
constexpr transport::Milliseconds kTouchEvery{60'000};
constexpr int kUntilPlace = 10;

Error is_dropped() {
  return {"keep", "what is taken", "it is not wanted any more", {}, Cause(ECANCELED)};
}

Refusal no_room(const Error& why) {
  return not_sent(http_status::kNoStorage, why.message());
}

/// What a request without its caller says: nothing that only this caller understands.
transport::MessageHead without_encodings(transport::MessageHead request) {
  std::erase_if(request.fields, [](const auto& field) { return field.first == "accept-encoding"; });
  return request;
}

}  // namespace

ArtifactStream::ArtifactStream(transport::Loop& loop, std::unique_ptr<ArtifactFile> file)
    : Stream(loop), work_(std::make_shared<Work>(std::move(file))), writing_(loop) {}

Io ArtifactStream::try_read(std::span<std::byte>) {
  return {failure_ ? IoStatus::failed : IoStatus::would_block, 0};
}

bool ArtifactStream::begin_write(transport::WriteOperation& operation) {
  if (failure_) {
    operation.status = IoStatus::failed;
    return true;
  }
  if (operation.chunk.size == 0) {
    finished_ = finished_ || operation.finish;
    operation.status = IoStatus::ok;
    return true;
  }
  const std::span bytes(operation.chunk.data, operation.chunk.size);
  work_->bytes.assign(bytes.begin(), bytes.end());
  if (work_->file->artifact().ending == ".nettrace") end_.take(bytes);
  operation_ = &operation;
  writing_.spawn(write());
  return false;
}

Task<void> ArtifactStream::write() {
  transport::Offload appending(
      loop(), [work = work_] { work->done = work->file->append(work->bytes, work->removed); });
  co_await appending.done();
  if (!work_->done) abort(work_->done.error());
  complete(failure_ ? IoStatus::failed : IoStatus::ok);
}

void ArtifactStream::complete(IoStatus status) {
  transport::WriteOperation* const operation = std::exchange(operation_, nullptr);
  if (operation == nullptr) return;
  operation->chunk.advance(operation->chunk.size);
  operation->status = status;
  finished_ = finished_ || (operation->finish && status == IoStatus::ok);
  operation->complete();
}

void ArtifactStream::abort(Error why) {
  if (!failure_) failure_ = std::move(why);
}

void ArtifactStream::drop() {
  abort(is_dropped());
  if (transport::Wake* const wake = std::exchange(gone_, nullptr)) wake->wake();
}

Task<Result<void>> ArtifactStream::end(std::string why_cut) {
  co_await writing_.idle();
  const bool is_dropped = failure_ && failure_->cause == ECANCELED;
  if (finished_ && !failure_ && work_->file->artifact().ending == ".nettrace" && end_.breaks_off())
    why_cut = "the runtime ended before it had told everything";
  else if (finished_ && !failure_)
    why_cut.clear();
  else if (failure_)
    why_cut = failure_->message();
  transport::Offload ending(loop(), [work = work_, why = std::move(why_cut), is_dropped] {
    if (is_dropped) {
      work->file->drop();
    } else {
      work->done = work->file->end(why);
    }
  });
  co_await ending.done();
  co_return is_dropped ? Result<void>() : work_->done;
}

Task<void> ArtifactStream::touch() {
  transport::Offload touching(loop(), [work = work_] { work->file->touch(); });
  co_await touching.done();
}

std::size_t ArtifactStream::take_removed() {
  return std::exchange(work_->removed, 0);
}

KeptResponse::KeptResponse(transport::Loop& loop, transport::MessageHead request,
                           std::unique_ptr<ArtifactFile> file)
    : request_(without_encodings(std::move(request))),
      artifact_(file->artifact()),
      stream_(loop, std::move(file)),
      decided_(loop) {}

void KeptResponse::send_head(int status, transport::HeaderFields, bool) {
  if (status != http_status::kOk) refuse(not_sent(status, "it was refused"));
  decided_.set();
}

void KeptResponse::refuse(Refusal refusal) {
  stream_.abort(told_ ? Error{"take", artifact_.kind, refusal.why} : is_dropped());
  refused_ = std::move(refusal);
  decided_.set();
}

KeptAnswers::KeptAnswers(transport::Loop& loop, Log log, std::shared_ptr<const Artifacts> artifacts)
    : loop_(loop),
      log_(std::move(log)),
      artifacts_(std::move(artifacts)),
      places_(kMaxKept, "keeps", "artifact"),
      tasks_(loop) {}

Task<tl::expected<std::shared_ptr<KeptResponse>, Refusal>> KeptAnswers::begin(transport::MessageHead request,
                                                                              Artifact artifact) {
  if (artifacts_ == nullptr) co_return tl::unexpected(keeps_nothing());
  std::function<Result<std::unique_ptr<ArtifactFile>>()> create = [directory = artifacts_, artifact] {
    std::size_t removed = 0;
    return ArtifactFile::create(directory, artifact, removed);
  };
  auto file = co_await from_disk(loop_, std::move(create));
  if (!file) co_return tl::unexpected(no_room(file.error()));
  co_return std::make_shared<KeptResponse>(loop_, std::move(request), std::move(*file));
}

std::optional<Refusal> KeptAnswers::run(std::shared_ptr<KeptResponse> response,
                                        Task<std::optional<Refusal>> handled, std::shared_ptr<void> owner,
                                        const Caller& caller) {
  auto place = places_.take(caller);
  if (!place) {
    Refusal many = not_sent(http_status::kTooManyRequests, place.error());
    many.retry_after = kUntilPlace;
    return many;
  }
  tasks_.spawn(keep(std::move(response), std::move(handled), std::move(owner), std::move(*place)));
  return std::nullopt;
}

Task<void> KeptAnswers::touch(KeptResponse& response) {
  for (;;) {
    co_await transport::sleep(loop_, kTouchEvery);
    co_await response.content().touch();
  }
}

Task<void> KeptAnswers::keep(std::shared_ptr<KeptResponse> response, Task<std::optional<Refusal>> handled,
                             std::shared_ptr<void> /*owner*/, Places::Place /*place*/) {
  const std::string id = response->artifact().id;
  under_way_[id] = response.get();
  std::optional<Refusal> refused;
  {
    // Both are destroyed before what they use.
    transport::TaskSet touching(loop_);
    touching.spawn(touch(*response));
    Task<std::optional<Refusal>> handling = std::move(handled);
    refused = co_await handling;
  }
  if (refused) response->refuse(*refused);
  const Result<void> ended = co_await response->content().end("the agent was stopped");
  under_way_.erase(id);
  tell(*response, ended);
}

void KeptAnswers::tell(KeptResponse& response, const Result<void>& ended) {
  const std::string& id = response.artifact().id;
  const std::size_t removed = response.content().take_removed();
  if (removed > 0) log_->warn("removed older artifacts to make room: {}", removed);
  if (response.refused()) return log_->info("nothing is kept as {}: {}", id, response.refused()->why);
  if (!ended) return log_->error("{} is not kept: {}", id, ended.error().message());
  log_->info("kept {}", id);
}

bool KeptAnswers::drop(const std::string& id) {
  const auto known = under_way_.find(id);
  if (known == under_way_.end()) return false;
  known->second->content().drop();
  return true;
}

}  // namespace farport::router
