#include "router/agent/api/artifact_requests.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "auth/rules.hpp"
#include "base/text.hpp"
#include "ipc/commands.hpp"
#include "router/agent/api/sending.hpp"
#include "router/wire/json_members.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

/// The same whether there is none or the caller may not know of it.
Refusal no_artifact(const std::string& id) {
  return not_sent(http_status::kNotFound, "nothing is kept as " + id + "; GET /v1/artifacts lists what is");
}

/// Drops the first `left_out` bytes.
Task<Result<std::vector<std::byte>>> next_after(NextPiece next, std::shared_ptr<std::uint64_t> left_out) {
  for (;;) {
    CO_ASSIGN_OR_RETURN(auto piece, co_await next());
    const std::size_t skipped = std::min<std::uint64_t>(*left_out, piece.size());
    *left_out -= skipped;
    const bool is_over = piece.empty();
    piece.erase(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(skipped));
    if (is_over || !piece.empty()) co_return piece;
  }
}

NextPiece from_offset(NextPiece next, std::uint64_t offset) {
  return [next = std::move(next), left_out = std::make_shared<std::uint64_t>(offset)] {
    return next_after(next, left_out);
  };
}

/// A function of its own: GCC 12 destroys the elements of an initializer list twice in a coroutine.
void begin_content(Answer& answer, const Artifact& artifact, std::uint64_t offset) {
  transport::HeaderFields fields{
      {"content-type", "application/octet-stream"},
      {"content-disposition", "attachment; filename=\"" + artifact.file_name() + "\""}};
  // Nobody has counted what a killed agent had taken.
  if (!artifact.sha256.empty()) fields.emplace_back("content-length", std::to_string(artifact.size - offset));
  answer.begin(std::move(fields));
}

/// The same.
void begin_events(Answer& answer) {
  answer.begin({{"content-type", "application/x-ndjson"}});
}

std::optional<std::uint64_t> offset_of(const Route& route) {
  const std::string text = route.parameter("offset");
  return text.empty() ? std::uint64_t{0} : number_in<std::uint64_t>(text);
}

std::string arguments_of(const Artifact& artifact) {
  return text_of(json{{"id", artifact.id}, {"kind", artifact.kind}});
}

/// How the name of a file ends that is taken by the last word of a route, in a format if it has any. None is
/// that of a description.
struct Ending {
  std::string_view action;
  std::string_view format;
  std::string_view ending;
};
constexpr std::array kEndings{Ending{"trace", "", ".nettrace"},
                              Ending{"recent", "", ".nettrace"},
                              Ending{"dump", "", ".dmp"},
                              Ending{"modules", "", ".tar"},
                              Ending{"counters", "", ".ndjson"},
                              Ending{"logs", "", ".ndjson"},
                              Ending{"exceptions", "", ".ndjson"},
                              Ending{"stacks", "", ".stacks.json"},
                              Ending{"gcdump", "", ".types.json"},
                              Ending{"gcdump", "gcdump", kHeapEventsEnding},
                              Ending{"profile", "", ".samples"},
                              Ending{"profile", "html", ".html"},
                              Ending{"profile", "svg", ".svg"},
                              Ending{"profile", "speedscope", ".speedscope.json"},
                              Ending{"profile", "pprof", ".pb.gz"},
                              Ending{"profile", "perf", ".perf.txt"},
                              Ending{"profile", "folded", ".folded"}};

/// That without a format where the action has none of this name.
std::string ending_of(std::string_view action, std::string_view format) {
  std::string_view found;
  for (const Ending& each : kEndings) {
    if (each.action == action && (each.format.empty() || each.format == format)) found = each.ending;
  }
  return std::string(found);
}

Artifact artifact_for(const Route& route, const Caller& caller, const Runtime& runtime) {
  Artifact artifact;
  artifact.kind = route.path.substr(route.path.rfind('/') + 1);
  artifact.ending = ending_of(artifact.kind, route.parameter("format"));
  artifact.runtime = runtime;
  artifact.time = utc_text(std::chrono::system_clock::now());
  artifact.taken_by = caller.identity ? auth::describe(*caller.identity) : "";
  artifact.owner = owner_of(caller);
  artifact.permissions = permissions_to_take(artifact.kind, caller, runtime);
  return artifact;
}

std::string why_not_here(const Artifact& artifact) {
  if (artifact.state == Artifact::State::whole)
    return artifact.id + " is in the store " + artifact.only_in + " only, where it went straight";
  return "nothing is kept of " + artifact.id + ", which was to go straight to the store " + artifact.only_in +
         ": " + artifact.why;
}

/// A list is read again after this time even if no change of the directory has been noticed.
constexpr std::chrono::milliseconds kListAge{1'000};
/// The same while something is being taken, whose size changes.
constexpr std::chrono::milliseconds kGrowingListAge{500};

/// What is refused is mostly refused within this time.
constexpr transport::Milliseconds kUntilDecided{1'000};

}  // namespace

AuditEntry entry_about(const Artifact& artifact, std::string command, const Caller& caller) {
  AuditEntry entry{"artifact", caller};
  entry.command = std::move(command);
  entry.arguments = arguments_of(artifact);
  entry.runtime = std::make_shared<const Runtime>(artifact.runtime);
  return entry;
}

Handled ArtifactRequests::keep(Answer& answer, const Route& route, const Caller& caller, RuntimePtr runtime,
                               Handle handle, std::shared_ptr<void> owner) {
  if (route.parameter("stay") == "true")
    co_return not_sent(http_status::kBadRequest,
                       "stay and keep leave the dump at different places: give one");
  const auto begun = co_await begin(answer.request(), route, caller, std::move(runtime), std::move(handle),
                                    std::move(owner), {});
  if (!begun) co_return begun.error();
  std::function<std::string()> make = [&begun] { return to_json(*begun); };
  co_await answer.json(std::move(make));
  co_return std::nullopt;
}

Task<tl::expected<Artifact, Refusal>> ArtifactRequests::begin(transport::MessageHead request, Route route,
                                                              const Caller& caller, RuntimePtr runtime,
                                                              Handle handle, std::shared_ptr<void> owner,
                                                              std::string cause) {
  Artifact wanted = artifact_for(route, caller, *runtime);
  wanted.cause = std::move(cause);
  AuditEntry entry{"artifact", caller};
  entry.command = "keep";
  entry.runtime = runtime;
  const AuditOnExit audited(audit_, entry, AuditOnExit::Clock::now());
  auto refused = note_decision(entry, authorize_artifact(caller, wanted));
  if (!refused) refused = note_decision(entry, authorize_keeping(caller, *runtime));
  tl::expected<Artifact, Refusal> begun = tl::unexpected(refused.value_or(Refusal{}));
  if (!refused)
    begun = co_await begin_keeping(std::move(request), std::move(wanted), std::move(handle), std::move(owner),
                                   entry);
  if (!begun)
    entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, begun.error().why};
  co_return begun;
}

Task<tl::expected<Artifact, Refusal>> ArtifactRequests::begin_keeping(transport::MessageHead request,
                                                                      Artifact wanted, Handle handle,
                                                                      std::shared_ptr<void> owner,
                                                                      AuditEntry& entry) {
  if (artifacts_ == nullptr) co_return tl::unexpected(keeps_nothing());
  RoomFor whose = co_await room_for(entry.caller, wanted);
  auto kept = co_await kept_.begin(std::move(request), std::move(wanted), std::move(whose), entry.caller);
  if (!kept) co_return tl::unexpected(kept.error());
  const std::shared_ptr<KeptResponse> answer = *kept;
  entry.arguments = arguments_of(answer->artifact());
  kept_.run(answer, handle(*answer), std::move(owner));
  co_await with_deadline(loop_, answer->decided(), kUntilDecided);
  if (answer->refused()) co_return tl::unexpected(*answer->refused());
  answer->set_told();
  entry.outcome = {};
  co_return answer->artifact();
}

Handled ArtifactRequests::list(Answer& answer, const Route& route, CallerSession& session) {
  return route.parameter("watch") == "true" ? watch(answer, session) : list_once(answer, session.caller);
}

Handled ArtifactRequests::list_once(Answer& answer, const Caller& caller) {
  if (artifacts_ == nullptr) co_return keeps_nothing();
  std::ignore = co_await listed();
  // Each item is of the newest list, so that no answer keeps an old one.
  AppendItem append = [this, &caller, last = std::string()](std::string& to) mutable {
    for (auto next = listed_->upper_bound(last); next != listed_->end(); ++next) {
      last = next->first;
      if (!authorize_artifact(caller, next->second->about).allowed) continue;
      to += next->second->text;
      return true;
    }
    return false;
  };
  co_await answer.array({}, std::move(append));
  co_return std::nullopt;
}

Task<RoomFor> ArtifactRequests::room_for(const Caller& caller, const Artifact& wanted) {
  RoomFor whose{wanted.runtime.user};
  if (caller.access->may_everywhere(auth::kRemoveArtifacts)) co_return whose;
  const auto all = co_await listed();
  const auto may_go = std::make_shared<ArtifactIds>();
  for (const auto& [id, each] : *all) {
    if (authorize_removal(caller, each->about).allowed) may_go->insert(id);
  }
  whose.may_go = may_go;
  co_return whose;
}

Task<std::shared_ptr<const ListedArtifacts>> ArtifactRequests::listed() {
  watch_directory();
  const auto turn = co_await reading_.take();
  const bool is_old = Clock::now() - listed_at_ > (list_->grows() ? kGrowingListAge : kListAge);
  if (listed_ == nullptr || is_old || listed_changes_ != changes_) {
    const std::uint64_t before = changes_;
    std::function<std::shared_ptr<const ListedArtifacts>()> read = [list = list_] { return list->read(); };
    listed_ = co_await transport::offloaded(loop_, std::move(read));
    listed_changes_ = before;
    listed_at_ = Clock::now();
    on_size_(list_->bytes());
  }
  co_return listed_;
}

void ArtifactRequests::watch_directory() {
  if (directory_watch_) return;
  directory_watch_.emplace(loop_, artifacts_->path(), [this](const char* entry) {
    if (!Artifacts::may_be_description(entry)) return;
    ++changes_;
    changed_.changed();
  });
}

Handled ArtifactRequests::watch(Answer& answer, CallerSession& session) {
  if (artifacts_ == nullptr) co_return keeps_nothing();
  struct Watching {
    explicit Watching(std::size_t& count, transport::Condition& ended) : count_(count), ended_(ended) {
      ++count_;
    }
    ~Watching() {
      --count_;
      ended_.changed();
    }
    std::size_t& count_;
    transport::Condition& ended_;
  } const watching(session.artifact_watches, unwatched_);
  session.has_followed = true;
  const Followers::Following following(followers_, session.caller);
  watch_directory();
  begin_events(answer);
  bool is_gone = false;
  const auto gone = answer.when_gone([this, &is_gone] {
    is_gone = true;
    changed_.changed();
  });
  std::uint64_t told = changes_;
  bool told_of_stop = false;
  for (IoStatus written = IoStatus::ok; written == IoStatus::ok && !is_gone;) {
    if (told == changes_ && told_of_stop == stopping_) {
      co_await changed_.wait();
      continue;
    }
    const bool is_stop = std::exchange(told_of_stop, stopping_) != stopping_;
    told = changes_;
    written = co_await answer.event(to_json_line(is_stop ? ArtifactEvent::stopping : ArtifactEvent::changed));
  }
  co_return std::nullopt;
}

void ArtifactRequests::tell_of_stop() {
  stopping_ = true;
  changed_.changed();
}

Task<void> ArtifactRequests::unwatched(const CallerSession& session) {
  while (session.artifact_watches > 0) co_await unwatched_.wait();
}

Task<void> ArtifactRequests::followed(const CallerSession& session) {
  while (!session.has_followed || session.artifact_watches > 0) co_await unwatched_.wait();
}

Task<tl::expected<Artifact, Refusal>> ArtifactRequests::find_seen(std::string id, const Caller& caller) {
  if (artifacts_ == nullptr) co_return tl::unexpected(keeps_nothing());
  std::function<Result<Artifact>()> find = [directory = artifacts_, id] { return directory->find(id); };
  auto found = co_await transport::offloaded(loop_, std::move(find));
  if (found && caller.sees(found->runtime)) co_return std::move(*found);
  co_return tl::unexpected(no_artifact(id));
}

Handled ArtifactRequests::find(Answer& answer, Route route, const Caller& caller) {
  if (artifacts_ == nullptr) co_return keeps_nothing();
  const auto all = co_await listed();
  const auto known = all->find(route.id);
  if (known == all->end() || !caller.sees(known->second->about.runtime)) co_return no_artifact(route.id);
  const std::shared_ptr<const ListedArtifact> found = known->second;
  const Decision decision = authorize_artifact(caller, found->about);
  if (!decision.allowed) co_return decision.refusal;
  std::function<std::string()> make = [found] { return found->text; };
  co_await answer.json(std::move(make));
  co_return std::nullopt;
}

Handled ArtifactRequests::take(Answer& answer, Route route, const Caller& caller, RecentRequests& recent) {
  // First, since a request that waits for a place must not hold an artifact in memory.
  const auto place = co_await answer.place_for_files();
  if (!place) co_return std::nullopt;
  auto artifact = co_await find_seen(route.id, caller);
  if (!artifact) co_return artifact.error();
  AuditEntry entry = entry_about(*artifact, "get", caller);
  const AuditOnExit audited(audit_, entry, AuditOnExit::Clock::now());
  auto refused = note_decision(entry, authorize_artifact(caller, *artifact));
  // What is made for each who gets it may differ each time.
  const auto offset = offset_of(route);
  if (!refused && (!offset || *offset > artifact->size))
    refused = not_sent(http_status::kBadRequest, "there is no such offset in it");
  if (!refused) refused = co_await send(answer, *place, std::move(*artifact), *offset, entry, recent);
  if (refused) entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, refused->why};
  co_return refused;
}

Handled ArtifactRequests::send(Answer& answer, const FilePlace& place, Artifact artifact,
                               std::uint64_t offset, AuditEntry& entry, RecentRequests& recent) {
  if (artifact.state == Artifact::State::under_way)
    co_return not_sent(http_status::kConflict, artifact.id + " is still being taken");
  if (!artifact.only_in.empty()) co_return not_sent(http_status::kGone, why_not_here(artifact));
  const bool is_cut = artifact.state == Artifact::State::cut;
  const auto cut_off = is_cut ? CompressedFileReader::CutOff::end : CompressedFileReader::CutOff::error;
  std::function<Result<Artifacts::Opened>()> open = [directory = artifacts_, id = artifact.id,
                                                     cut_off]() -> Result<Artifacts::Opened> {
    ASSIGN_OR_RETURN(auto files, directory->open(id));
    // Once the answer has begun, nobody is told what is wrong with the file.
    const auto first = CompressedFileReader(files.content ? files.content : files.events, cut_off).next();
    if (!first) return tl::unexpected(first.error());
    return files;
  };
  auto opened = co_await transport::offloaded(loop_, std::move(open));
  if (!opened && opened.error().cause == ENOENT) co_return no_artifact(artifact.id);
  if (!opened) co_return not_sent(http_status::kGone, opened.error().message());
  if (!opened->content) {
    auto refused = co_await recent.send_crash(answer, place, std::move(*opened), artifact, entry);
    co_return refused;
  }
  begin_content(answer, artifact, offset);
  NextPiece pieces = from_offset(pieces_of_file(loop_, place, opened->content, cut_off), offset);
  const auto sent = co_await send_all(std::move(pieces), answer, entry.to_tool);
  note_outcome(sent, answer, entry);
  co_return std::nullopt;
}

Handled ArtifactRequests::remove_now(const Artifact& artifact) {
  // What is being taken here is removed once that has been broken off.
  const bool dropped = co_await kept_.drop(artifact.id);
  if (dropped) co_return std::nullopt;
  if (artifact.state == Artifact::State::under_way)
    co_return not_sent(http_status::kConflict, artifact.id + " is being taken by another agent");
  std::function<Result<void>()> remove = [directory = artifacts_, id = artifact.id] {
    return directory->remove(id);
  };
  const Result<void> removed = co_await transport::offloaded(loop_, std::move(remove));
  if (!removed) co_return not_sent(http_status::kBadGateway, removed.error().message());
  co_return std::nullopt;
}

Handled ArtifactRequests::remove(Answer& answer, Route route, const Caller& caller) {
  auto artifact = co_await find_seen(std::move(route.id), caller);
  if (!artifact) co_return artifact.error();
  AuditEntry entry = entry_about(*artifact, "remove", caller);
  const AuditOnExit audited(audit_, entry, AuditOnExit::Clock::now());
  auto refused = note_decision(entry, authorize_removal(caller, *artifact));
  if (!refused) refused = co_await remove_now(*artifact);
  if (refused) {
    entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, refused->why};
    co_return refused;
  }
  entry.outcome = {};
  std::function<std::string()> make = [] { return std::string("{}"); };
  co_await answer.json(std::move(make));
  co_return std::nullopt;
}

}  // namespace farport::router
