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
void begin_content(Response& response, const Artifact& artifact, std::uint64_t offset) {
  transport::HeaderFields fields{
      {"content-type", "application/octet-stream"},
      {"content-disposition", "attachment; filename=\"" + artifact.file_name() + "\""}};
  // Nobody has counted what a killed agent had taken.
  if (!artifact.sha256.empty()) fields.emplace_back("content-length", std::to_string(artifact.size - offset));
  response.send_head(http_status::kOk, std::move(fields), true);
}

/// The same.
void begin_events(Response& response) {
  response.send_head(http_status::kOk, {{"content-type", "application/x-ndjson"}}, true);
}

std::optional<std::uint64_t> offset_of(const Route& route) {
  const std::string text = route.parameter("offset");
  return text.empty() ? std::uint64_t{0} : number_in<std::uint64_t>(text);
}

std::string arguments_of(const Artifact& artifact) {
  return text_of(json{{"id", artifact.id}, {"kind", artifact.kind}});
}

struct TakenKind {
  std::string_view action;  ///< The last word of the route.
  std::string_view ending;
};
constexpr std::array kTakenKinds{TakenKind{"trace", ".nettrace"},     TakenKind{"recent", ".nettrace"},
                                 TakenKind{"dump", ".dmp"},           TakenKind{"counters", ".ndjson"},
                                 TakenKind{"logs", ".ndjson"},        TakenKind{"exceptions", ".ndjson"},
                                 TakenKind{"stacks", ".stacks.json"}, TakenKind{"gcdump", ".json"}};
constexpr std::array kFormats{TakenKind{"gcdump", ".gcdump"}, TakenKind{"html", ".html"},
                              TakenKind{"svg", ".svg"},       TakenKind{"speedscope", ".speedscope.json"},
                              TakenKind{"pprof", ".pb.gz"},   TakenKind{"perf", ".perf.txt"},
                              TakenKind{"folded", ".folded"}};

std::string ending_of(std::string_view action, std::string_view format) {
  if (const auto* const known = std::ranges::find(kFormats, format, &TakenKind::action);
      known != kFormats.end())
    return std::string(known->ending);
  const auto* const known = std::ranges::find(kTakenKinds, action, &TakenKind::action);
  return known == kTakenKinds.end() ? ".samples" : std::string(known->ending);
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

Handled ArtifactRequests::keep(Response& response, const Route& route, const Caller& caller,
                               RuntimePtr runtime, Handle handle, std::shared_ptr<void> owner) {
  if (route.parameter("stay") == "true")
    co_return not_sent(http_status::kBadRequest,
                       "stay and keep leave the dump at different places: give one");
  const auto begun = co_await begin(response.request(), route, caller, std::move(runtime), std::move(handle),
                                    std::move(owner), {});
  if (!begun) co_return begun.error();
  co_await response.send(http_status::kOk, kJson, to_json(*begun));
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
  auto kept = co_await kept_.begin(std::move(request), std::move(wanted), entry.caller);
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

Handled ArtifactRequests::list(Response& response, const Route& route, CallerSession& session) {
  return route.parameter("watch") == "true" ? watch(response, session) : list_once(response, session.caller);
}

Handled ArtifactRequests::list_once(Response& response, const Caller& caller) {
  if (artifacts_ == nullptr) co_return keeps_nothing();
  std::function<std::vector<Artifact>()> read = [directory = artifacts_] { return directory->all(); };
  auto all = co_await transport::offloaded(loop_, std::move(read));
  std::erase_if(all, [&caller](const Artifact& each) { return !authorize_artifact(caller, each).allowed; });
  co_await response.send(http_status::kOk, kJson, to_json(all));
  co_return std::nullopt;
}

void ArtifactRequests::watch_directory() {
  if (directory_watch_) return;
  directory_watch_.emplace(loop_, artifacts_->path(), [this](const char* entry) {
    if (!Artifacts::may_be_description(entry)) return;
    ++changes_;
    changed_.changed();
  });
}

Handled ArtifactRequests::watch(Response& response, CallerSession& session) {
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
  begin_events(response);
  bool is_gone = false;
  const transport::WhenGone gone(response.stream(), [this, &is_gone] {
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
    const std::string line = to_json_line(is_stop ? ArtifactEvent::stopping : ArtifactEvent::changed);
    written = co_await response.stream().write(std::as_bytes(std::span(line)));
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

Handled ArtifactRequests::find(Response& response, Route route, const Caller& caller) {
  const auto artifact = co_await find_seen(std::move(route.id), caller);
  if (!artifact) co_return artifact.error();
  const Decision decision = authorize_artifact(caller, *artifact);
  if (!decision.allowed) co_return decision.refusal;
  co_await response.send(http_status::kOk, kJson, to_json(*artifact));
  co_return std::nullopt;
}

Handled ArtifactRequests::take(Response& response, Route route, const Caller& caller,
                               RecentRequests& recent) {
  auto artifact = co_await find_seen(route.id, caller);
  if (!artifact) co_return artifact.error();
  AuditEntry entry = entry_about(*artifact, "get", caller);
  const AuditOnExit audited(audit_, entry, AuditOnExit::Clock::now());
  auto refused = note_decision(entry, authorize_artifact(caller, *artifact));
  // What is made for each who gets it may differ each time.
  const auto offset = offset_of(route);
  if (!refused && (!offset || *offset > artifact->size))
    refused = not_sent(http_status::kBadRequest, "there is no such offset in it");
  if (!refused) refused = co_await send(response, std::move(*artifact), *offset, entry, recent);
  if (refused) entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, refused->why};
  co_return refused;
}

Handled ArtifactRequests::send(Response& response, Artifact artifact, std::uint64_t offset, AuditEntry& entry,
                               RecentRequests& recent) {
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
    auto refused = co_await recent.send_crash(response, std::move(*opened), artifact, entry);
    co_return refused;
  }
  begin_content(response, artifact, offset);
  NextPiece pieces = from_offset(pieces_of_file(loop_, opened->content, cut_off), offset);
  const auto sent = co_await send_all(std::move(pieces), response.stream(), entry.to_tool);
  note_outcome(sent, response, entry);
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

Handled ArtifactRequests::remove(Response& response, Route route, const Caller& caller) {
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
  co_await response.send(http_status::kOk, kJson, "{}");
  co_return std::nullopt;
}

}  // namespace farport::router
