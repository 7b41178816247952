#include "router/agent/egress/store_sender.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Milliseconds;
using transport::Task;

constexpr Milliseconds kFirstPause{5'000};
constexpr Milliseconds kLongestPause{10 * 60'000};
/// Some file systems don't tell what others change.
constexpr Milliseconds kLookAnyway{60'000};
/// Several changes of the directory come at once.
constexpr Milliseconds kUntilSettled{200};
/// After so many tries a store gets a crash as it can be made.
constexpr unsigned kTriesForAll = 3;

/// What a command gets, as the answer to a request.
class CommandResponse final : public Response {
 public:
  explicit CommandResponse(transport::Stream& input) : input_(input) {}
  [[nodiscard]] const transport::MessageHead& request() const override { return request_; }
  [[nodiscard]] transport::Stream& stream() override { return input_; }
  void send_head(int, transport::HeaderFields fields, bool) override {
    for (const auto& [name, value] : fields) {
      if (name == kRecentLost) lost_ = value;
      if (name == "farport-recent-names" && value == "busy") lost_ = "names of methods";
    }
  }
  /// What the content lacks, and may have later; empty if nothing.
  [[nodiscard]] const std::string& lost() const { return lost_; }

 private:
  transport::MessageHead request_;
  transport::Stream& input_;
  std::string lost_;
};

tl::unexpected<Error> not_sent_to(const std::string& store, std::string why) {
  return fail("send it to", store, std::move(why));
}

}  // namespace

StoreSender::StoreSender(transport::Loop& loop, Log log, std::shared_ptr<Store> store, Parts parts)
    : loop_(loop),
      log_(std::move(log)),
      store_(std::move(store)),
      parts_(std::move(parts)),
      account_(loop),
      own_("egress " + name()),
      watch_(loop, parts_.artifacts->path(),
             [this](const char* entry) {
               if (Artifacts::may_be_description(entry)) changed_.set();
             }),
      changed_(loop),
      tried_(loop) {}

Task<void> StoreSender::run() {
  const UniqueFd turn = co_await take_turn();
  has_turn_ = true;
  for (;;) {
    const std::vector<Artifact> waiting = co_await look();
    const std::optional<Artifact> next = choose(waiting);
    if (next) {
      co_await try_one(*next);
    } else {
      co_await wait();
    }
  }
}

Task<UniqueFd> StoreSender::take_turn() {
  for (std::string said;;) {
    std::function<Result<UniqueFd>()> lock = [artifacts = parts_.artifacts, store = name()] {
      return artifacts->lock_store(store);
    };
    Result<UniqueFd> turn = co_await transport::offloaded(loop_, std::move(lock));
    if (turn) co_return std::move(*turn);
    const std::string why = turn.error().message();
    if (why != said) log_->warn("nothing goes to {} from here: {}", name(), why);
    said = why;
    co_await transport::sleep(loop_, kFirstPause);
  }
}

Task<std::vector<Artifact>> StoreSender::look() {
  std::function<std::vector<Artifact>()> read = [artifacts = parts_.artifacts, store = store_->about()] {
    return artifacts->waiting_for(store);
  };
  std::vector<Artifact> waiting = co_await transport::offloaded(loop_, std::move(read));
  counts_.waiting = waiting.size();
  // What is gone need not be known any more.
  std::set<std::string_view> ids;
  for (const Artifact& each : waiting) ids.insert(each.id);
  std::erase_if(failures_, [&ids](const auto& each) { return !ids.contains(each.first); });
  std::erase_if(waited_, [&ids](const auto& id) { return !ids.contains(id); });
  std::erase_if(stored_, [&ids](const auto& id) { return !ids.contains(id); });
  co_return waiting;
}

std::optional<Artifact> StoreSender::choose(const std::vector<Artifact>& waiting) const {
  const auto failures = [this](const Artifact& artifact) {
    const auto known = failures_.find(artifact.id);
    return known == failures_.end() ? 0U : known->second;
  };
  // What has come since the last failure need not wait: that may have been about another one.
  const bool pauses = Clock::now() < next_try_;
  const Artifact* next = nullptr;
  for (const Artifact& each : waiting) {
    if (pauses && waited_.contains(each.id)) continue;
    if (next == nullptr || failures(each) < failures(*next)) next = &each;
  }
  return next == nullptr ? std::nullopt : std::optional(*next);
}

/// Waits until there may be something to do.
Task<void> StoreSender::wait() {
  Milliseconds most = kLookAnyway;
  if (!waited_.empty()) {
    const auto left = std::chrono::ceil<Milliseconds>(next_try_ - Clock::now());
    most = std::clamp(left, Milliseconds(1), most);
  }
  tried_.changed();
  const bool changed = co_await with_deadline(loop_, changed_.wait(), most);
  if (changed) co_await transport::sleep(loop_, kUntilSettled);
}

Task<void> StoreSender::sent_all(Milliseconds recently) {
  const bool is_there = last_sent_ && Clock::now() - *last_sent_ < recently;
  while (has_turn_) {
    const std::vector<Artifact> waiting = co_await look();
    const bool is_new = std::ranges::any_of(
        waiting, [this](const Artifact& artifact) { return !waited_.contains(artifact.id); });
    if (waiting.empty() || (!is_new && !is_there)) co_return;
    if (is_new) changed_.set();
    co_await tried_.wait();
  }
}

Task<std::vector<std::string>> StoreSender::waiting() {
  std::vector<std::string> ids;
  if (!has_turn_) co_return ids;
  for (const Artifact& each : co_await look()) ids.push_back(each.id);
  co_return ids;
}

Task<void> StoreSender::try_one(Artifact artifact) {
  const std::string id = artifact.id;
  const Result<void> sent = co_await send(std::move(artifact));
  if (sent) {
    ++counts_.sent;
    failures_in_a_row_ = 0;
    last_sent_ = Clock::now();
    next_try_ = {};
    waited_.clear();
    log_->info("sent {} to {}", id, name());
  } else {
    co_await note_failure(id, sent.error());
  }
  tried_.changed();
}

Task<void> StoreSender::note_failure(std::string id, Error why) {
  const std::vector<Artifact> waiting = co_await look();
  // Somebody may have removed it meanwhile.
  if (std::ranges::find(waiting, id, &Artifact::id) == waiting.end()) co_return;
  ++counts_.failed;
  ++failures_[id];
  for (const Artifact& each : waiting) waited_.insert(each.id);
  const auto doublings = std::min(failures_in_a_row_++, 10U);
  const Milliseconds pause = std::min(kFirstPause * (1U << doublings), kLongestPause);
  next_try_ = Clock::now() + pause;
  log_->warn("{} stays here, and is tried again in {} s: {}", id, pause.count() / 1000, why.message());
}

Task<Result<void>> StoreSender::send(Artifact artifact) {
  AuditEntry entry = entry_about(artifact, "send", own_.caller());
  const AuditOnExit audited(parts_.audit, entry, AuditOnExit::Clock::now());
  Result<void> sent;
  // Whoever reads the store decides by the roles there, but the audit says by which rule it went.
  const auto refused = note_decision(entry, authorize_artifact(own_.caller(), artifact));
  if (refused) {
    sent = not_sent_to(name(), refused->why);
  } else if (!stored_.contains(artifact.id)) {
    // What has gone straight there is there already.
    if (artifact.only_in.empty()) sent = co_await send_content(artifact, entry);
    if (sent) sent = co_await store_->put(artifact, artifact.id + ".json", to_json(artifact) + "\n");
  }
  if (sent) {
    // If the disk takes no note of it now, that is tried again, and not the sending.
    stored_.insert(artifact.id);
    std::function<Result<void>()> note = [artifacts = parts_.artifacts, id = artifact.id, store = name()] {
      return artifacts->note_sent(id, store);
    };
    sent = co_await transport::offloaded(loop_, std::move(note));
  }
  entry.outcome = {};
  if (!sent) entry.outcome = {Outcome::Kind::failed, sent.error().message()};
  co_return sent;
}

Task<Result<void>> StoreSender::send_content(Artifact& artifact, AuditEntry& entry) {
  CO_ASSIGN_OR_RETURN(const auto upload, store_->begin(artifact, entry.to_tool));
  upload->watch();
  const Clock::time_point begun = Clock::now();
  auto passed = co_await pass(*upload, artifact, entry);
  if (passed) counts_.bytes += entry.to_tool;
  // A crash is made while it is sent.
  if (passed && artifact.kind != kCrash) store_->note_taken(entry.to_tool, Clock::now() - begun);
  co_return passed;
}

Task<Result<void>> StoreSender::pass(StoreUpload& upload, Artifact& artifact, AuditEntry& entry) {
  CommandResponse response(upload.stream());
  Answer answer(response, account_);
  const auto place = co_await answer.place_for_files();
  if (!place) co_return not_sent_to(name(), "the command has ended");
  const auto unsent = co_await parts_.requests.send(answer, *place, artifact, 0, entry, parts_.recent);
  if (unsent) co_return not_sent_to(name(), unsent->why);
  const Outcome outcome = entry.outcome;
  if (outcome.kind != Outcome::Kind::completed) {
    // If the command has ended, that says more.
    co_return tl::unexpected(co_await upload.why_broken(outcome.why));
  }
  // That of a crash is known only now.
  artifact.size = entry.to_tool;
  CO_RETURN_IF_ERROR(co_await upload.stored(artifact));
  const auto tries = failures_.find(artifact.id);
  if (!response.lost().empty() && (tries == failures_.end() || tries->second < kTriesForAll))
    co_return not_sent_to(name(), "no reader could join its " + response.lost());
  co_return Result<void>();
}

}  // namespace farport::router
