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
constexpr transport::Milliseconds kRefreshEvery{1'000};
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
    : Stream(loop),
      work_(std::make_shared<Work>(std::move(file))),
      failed_(loop),
      writing_(loop),
      watching_(loop) {}

Io ArtifactStream::try_read(std::span<std::byte>) {
  return {failure_ ? IoStatus::failed : IoStatus::would_block, 0};
}

bool ArtifactStream::begin_write(transport::WriteOperation& operation) {
  if (failure_) {
    operation.status = IoStatus::failed;
    return true;
  }
  const std::span bytes(operation.chunk.data, operation.chunk.size);
  if (bytes.empty() && upload_ == nullptr) {
    finished_ = finished_ || operation.finish;
    operation.status = IoStatus::ok;
    return true;
  }
  work_->bytes.assign(bytes.begin(), bytes.end());
  if (work_->file->artifact().ending == ".nettrace") end_.take(bytes);
  operation_ = &operation;
  writing_.spawn(write());
  return false;
}

void ArtifactStream::when_gone(transport::Wake* wake) {
  gone_ = wake;
  if (failure_ && gone_ != nullptr) std::exchange(gone_, nullptr)->wake();
}

Task<Result<void>> ArtifactStream::go_straight_to(std::shared_ptr<Store> store, std::uint32_t stops_for) {
  std::function<Result<void>()> note = [work = work_, name = store->name(), stops_for] {
    const std::lock_guard lock(work->mutex);
    return work->file->go_straight_to(name, stops_for);
  };
  CO_RETURN_IF_ERROR(co_await transport::offloaded(loop(), std::move(note)));
  CO_ASSIGN_OR_RETURN(upload_, store->begin(work_->file->artifact(), given_));
  watching_.spawn(watch_upload());
  co_return Result<void>();
}

Task<void> ArtifactStream::write() {
  co_await append();
  if (upload_ != nullptr && !failure_ && !work_->bytes.empty()) co_await give();
  if (upload_ != nullptr && !failure_ && operation_ != nullptr && operation_->finish) co_await end_upload();
  complete(failure_ ? IoStatus::failed : IoStatus::ok);
}

Task<void> ArtifactStream::append() {
  transport::Offload appending(loop(), [work = work_] {
    const std::lock_guard lock(work->mutex);
    work->done = work->file->append(work->bytes, work->removed);
  });
  co_await appending.done();
  if (!work_->done) abort(work_->done.error());
}

Task<void> ArtifactStream::give() {
  const IoStatus status = co_await upload_->stream().write(work_->bytes);
  given_ += work_->bytes.size();
  // watch_upload() finds out why.
  while (status != IoStatus::ok && !failure_) co_await failed_.wait();
}

/// A command that has ended need not be given anything before that is seen: the application stands still.
Task<void> ArtifactStream::watch_upload() {
  co_await upload_->stream().gone();
  Error why = co_await upload_->why_broken("its command has ended");
  abort(std::move(why));
  if (transport::Wake* const wake = std::exchange(gone_, nullptr)) wake->wake();
}

/// Waits until the store has it.
Task<void> ArtifactStream::end_upload() {
  watching_.clear();
  transport::Offload counting(loop(), [work = work_] {
    const std::lock_guard lock(work->mutex);
    work->file->end_digest();
  });
  co_await counting.done();
  std::ignore = co_await upload_->stream().finish();
  const Result<void> stored = co_await upload_->stored(work_->file->artifact());
  if (!stored) abort(stored.error());
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
  if (failure_) return;
  failure_ = std::move(why);
  failed_.changed();
  // Nobody waits for a slow store then.
  if (upload_ != nullptr) upload_->give_up(*failure_);
}

void ArtifactStream::lacks(std::string_view what) {
  constexpr std::size_t kMostGaps = 1000;
  if (gaps_.size() + what.size() > kMostGaps) return;
  if (!gaps_.empty()) gaps_ += "; ";
  gaps_ += what;
}

void ArtifactStream::drop() {
  break_off(is_dropped());
}

void ArtifactStream::break_off(Error why) {
  abort(std::move(why));
  if (transport::Wake* const wake = std::exchange(gone_, nullptr)) wake->wake();
}

Task<Result<void>> ArtifactStream::end(std::string why_cut) {
  co_await writing_.idle();
  watching_.clear();
  // What is not whole never gets to its end in the store.
  upload_.reset();
  const bool breaks_off = work_->file->artifact().ending == ".nettrace" && end_.breaks_off();
  if (failure_) {
    why_cut = failure_->message();
  } else if (finished_) {
    why_cut = breaks_off ? "the runtime ended before it had told everything" : "";
  }
  if (!dropped()) {
    transport::Offload ending(loop(), [work = work_, why = std::move(why_cut), gaps = gaps_] {
      const std::lock_guard lock(work->mutex);
      work->done = work->file->end(why, gaps);
    });
    co_await ending.done();
  }
  // It may have been dropped meanwhile.
  if (!dropped()) co_return work_->done;
  transport::Offload dropping(loop(), [work = work_] {
    const std::lock_guard lock(work->mutex);
    work->file->drop();
  });
  co_await dropping.done();
  co_return Result<void>();
}

Task<void> ArtifactStream::refresh() {
  transport::Offload refreshing(loop(), [work = work_] {
    const std::lock_guard lock(work->mutex);
    work->file->refresh();
  });
  co_await refreshing.done();
}

std::size_t ArtifactStream::take_removed() {
  return std::exchange(work_->removed, 0);
}

KeptResponse::KeptResponse(transport::Loop& loop, transport::MessageHead request,
                           std::shared_ptr<const Artifacts> artifacts, std::unique_ptr<ArtifactFile> file,
                           std::shared_ptr<Store> store, RoomFor whose, Places::Place place)
    : request_(without_encodings(std::move(request))),
      artifacts_(std::move(artifacts)),
      store_(std::move(store)),
      artifact_(file->artifact()),
      whose_(std::move(whose)),
      stream_(loop, std::move(file)),
      decided_(loop),
      place_(std::move(place)) {}

void KeptResponse::send_head(int status, transport::HeaderFields, bool) {
  if (status != http_status::kOk) return refuse(not_sent(status, "it was refused"));
  decided_.set();
}

bool KeptResponse::take_refusal(Refusal& refusal) {
  refuse(std::move(refusal));
  return true;
}

void KeptResponse::refuse(Refusal refusal) {
  // If the store has failed, its reason is the better one.
  if (const Error* const before = stream_.failure()) refusal.why = before->message();
  stream_.abort(told_ ? Error{"take", artifact_.kind, refusal.why} : is_dropped());
  refused_ = std::move(refusal);
  decided_.set();
}

Task<Result<std::shared_ptr<void>>> KeptResponse::hold(UniqueFd reading) {
  CO_ASSIGN_OR_RETURN(auto held, co_await store_->hold(std::move(reading)));
  co_return std::make_shared<HeldPipe>(std::move(held));
}

Task<bool> KeptResponse::has_room_here(std::uint64_t bytes) {
  std::function<bool()> look = [directory = artifacts_, bytes, whose = whose_] {
    return directory->check_room(bytes, whose).has_value();
  };
  const bool has_room = co_await transport::offloaded(stream_.loop(), std::move(look));
  co_return has_room;
}

Task<Result<void>> KeptResponse::take(std::chrono::seconds expected) {
  const auto seconds = static_cast<std::uint32_t>(expected.count());
  CO_RETURN_IF_ERROR(co_await stream_.go_straight_to(store_, seconds));
  artifact_.only_in = store_->name();
  artifact_.stops_for = seconds;
  co_return Result<void>();
}

KeptAnswers::KeptAnswers(transport::Loop& loop, Log log, std::shared_ptr<const Artifacts> artifacts,
                         std::vector<std::shared_ptr<Store>> stores)
    : loop_(loop),
      log_(std::move(log)),
      artifacts_(std::move(artifacts)),
      stores_(std::move(stores)),
      places_(kMaxKept, "keeps", "artifact"),
      ended_(loop),
      tasks_(loop) {}

Task<tl::expected<std::shared_ptr<KeptResponse>, Refusal>> KeptAnswers::begin(transport::MessageHead request,
                                                                              Artifact artifact,
                                                                              RoomFor whose,
                                                                              const Caller& caller) {
  auto place = places_.take(caller, artifact.runtime.user);
  if (!place) {
    Refusal many = not_sent(http_status::kTooManyRequests, place.error());
    many.retry_after = kUntilPlace;
    co_return tl::unexpected(std::move(many));
  }
  const auto removed = std::make_shared<std::size_t>(0);
  std::function<Result<std::unique_ptr<ArtifactFile>>()> create = [directory = artifacts_, artifact, whose,
                                                                   removed] {
    return ArtifactFile::create(directory, artifact, whose, *removed);
  };
  auto file = co_await transport::offloaded(loop_, std::move(create));
  tell_removed(*removed);
  if (!file) co_return tl::unexpected(no_room(file.error()));
  const auto store =
      std::ranges::find_if(stores_, [&artifact](const auto& each) { return each->streams(artifact); });
  co_return std::make_shared<KeptResponse>(loop_, std::move(request), artifacts_, std::move(*file),
                                           store == stores_.end() ? nullptr : *store, std::move(whose),
                                           std::move(*place));
}

Task<void> KeptAnswers::refresh(KeptResponse& response) {
  for (;;) {
    co_await transport::sleep(loop_, kRefreshEvery);
    co_await response.content().refresh();
  }
}

Task<void> KeptAnswers::keep(std::shared_ptr<KeptResponse> response, Task<std::optional<Refusal>> handled,
                             std::shared_ptr<void> /*owner*/) {
  const std::string id = response->artifact().id;
  under_way_[id] = response.get();
  std::optional<Refusal> refused;
  {
    // Both are destroyed before what they use.
    transport::TaskSet refreshing(loop_);
    refreshing.spawn(refresh(*response));
    Task<std::optional<Refusal>> handling = std::move(handled);
    refused = co_await handling;
  }
  if (refused) response->refuse(std::move(*refused));
  const Result<void> ended = co_await response->content().end("it was broken off");
  under_way_.erase(id);
  ended_.changed();
  tell(*response, ended);
}

void KeptAnswers::tell_removed(std::size_t removed) const {
  if (removed > 0) log_->warn("removed older artifacts to make room: {}", removed);
}

void KeptAnswers::tell(KeptResponse& response, const Result<void>& ended) const {
  const std::string& id = response.artifact().id;
  tell_removed(response.content().take_removed());
  if (!ended) return log_->error("not all is kept of {}: {}", id, ended.error().message());
  if (response.content().dropped()) return log_->info("{} is not kept", id);
  const std::string& why_cut = response.content().why_cut();
  if (!why_cut.empty()) return log_->warn("kept {}, which is cut: {}", id, why_cut);
  const std::string& gaps = response.content().gaps();
  if (!gaps.empty()) return log_->warn("kept {}: {}", id, gaps);
  log_->info("kept {}", id);
}

Task<bool> KeptAnswers::drop(std::string id) {
  const auto known = under_way_.find(id);
  if (known == under_way_.end()) co_return false;
  known->second->content().drop();
  co_await ended(std::move(id));
  co_return true;
}

void KeptAnswers::break_off(const std::string& id, std::string why) {
  const auto known = under_way_.find(id);
  if (known != under_way_.end())
    known->second->content().break_off(Error{"take", id, std::move(why), {}, Cause(ETIMEDOUT)});
}

void KeptAnswers::clear() {
  tasks_.clear();
  under_way_.clear();
  ended_.changed();
}

Task<void> KeptAnswers::ended(std::string id) {
  while (under_way_.contains(id)) co_await ended_.wait();
}

}  // namespace farport::router
