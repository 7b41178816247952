#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/text.hpp"
#include "router/agent/api/api.hpp"
#include "router/agent/api/sending.hpp"
#include "router/agent/gate/gate.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/json_members.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {
namespace {

using transport::Task;

tl::expected<DumpRequest, Refusal> request_of(const Route& route) {
  const auto bad = [](std::string why) {
    return tl::unexpected(Refusal{http_status::kBadRequest, ipc::hresult::kInvalidArgument, std::move(why)});
  };
  DumpRequest request;
  const std::string type = route.parameter("type");
  if (!type.empty()) {
    const auto known = ipc::dump_type_named(type);
    if (!known) return bad("there is no type of dump " + type + ": it is mini, heap, triage or full");
    request.type = *known;
  }
  const std::string flags = route.parameter("flags");
  if (!flags.empty()) {
    const auto number = number_in<decltype(request.flags)>(flags);
    if (!number) return bad("flags must be a number");
    request.flags = *number;
  }
  request.anyway = route.parameter("anyway") == "true";
  return request;
}

/// Turns an error of a dump into a refusal, with the runtime's HRESULT if it gave one.
Refusal refusal_of(const Error& error) {
  const bool by_runtime = error.cause.kind() == Cause::Kind::runtime;
  const std::uint32_t hresult = by_runtime ? error.cause.value() : std::uint32_t{ipc::hresult::kFail};
  return {error.cause == EBUSY ? http_status::kConflict : http_status::kBadGateway, hresult, error.message()};
}

/// Sends the head of an answer whose body is a dump.
void begin_dump(Answer& answer, const Runtime& runtime, std::uint64_t size, bool compress) {
  const std::string bytes = std::to_string(size);
  transport::HeaderFields fields{
      {"content-type", "application/octet-stream"},
      {"farport-dump-size", bytes},
      {"content-disposition", fmt::format("attachment; filename=\"{}.dmp\"", runtime.pid)}};
  if (compress) {
    add_zstd(fields);
  } else {
    fields.emplace_back("content-length", bytes);
  }
  answer.begin(std::move(fields));
}

/// How long the caller allows the application to be stopped while a dump goes straight to a store; nothing if
/// it does not.
tl::expected<std::optional<transport::Milliseconds>, Refusal> longest_stop_of(const Route& route) {
  const std::string text = route.parameter("longest_stop");
  if (text.empty()) return std::nullopt;
  constexpr double kMost = 24 * 3600;
  const auto seconds = number_in<double>(text);
  const bool is_in_range = seconds && *seconds > 0 && *seconds <= kMost;
  if (!is_in_range)
    return tl::unexpected(Refusal{http_status::kBadRequest, ipc::hresult::kInvalidArgument,
                                  "longest_stop must be a number of seconds, up to a day"});
  return transport::Milliseconds(static_cast<std::int64_t>(*seconds * 1000));
}

std::chrono::seconds time_for(std::uint64_t bytes, const WayToStore& way) {
  return std::chrono::seconds(bytes / way.rate() + 1);
}

/// What the store could do, and for how long that would stop the application.
std::string offer_of(std::uint64_t bytes, const WayToStore& way) {
  return fmt::format(
      "the store {} could get it while it is written, which stops the application for about {} s: {} at {} "
      "a second",
      way.store(), time_for(bytes, way).count(), mebibytes(bytes), mebibytes(way.rate()));
}

/// Has the runtime write the dump into the store.
Task<Result<void>> write_straight(Answer& answer, Dumps::Job& job, WayToStore& way,
                                  transport::Milliseconds longest) {
  CO_RETURN_IF_ERROR(co_await way.take(time_for(job.progress().estimate.value_or(0), way)));
  CO_ASSIGN_OR_RETURN(DumpPipe pipe, job.make_pipe());
  CO_ASSIGN_OR_RETURN(const auto held, co_await way.hold(std::move(pipe.for_another)));
  answer.begin({});
  auto written = co_await job.write_to(answer.passed_on(), std::move(pipe), longest);
  co_return written;
}

Refusal no_room(Error why, std::string hint) {
  why.hint = std::move(hint);
  return refusal_of(why);
}

std::string arguments_of(const DumpRequest& request, bool stay) {
  return fmt::format(R"({{"type":"{}","flags":{},"stay":{}{}}})", ipc::name_of(request.type), request.flags,
                     stay, request.anyway ? R"(,"anyway":true)" : "");
}

std::string straight_arguments_of(const DumpRequest& request, const std::string& store) {
  return fmt::format(R"({{"type":"{}","flags":{},"store":"{}"}})", ipc::name_of(request.type), request.flags,
                     store);
}

}  // namespace

Handled DumpRequests::progress(Answer& answer, const Caller& caller,
                               tl::expected<RuntimePtr, Refusal> runtime) {
  if (!runtime) co_return runtime.error();
  // Only for callers who may take dumps: the size says how much memory the application has.
  const Decision decision = authorize_dump(caller, **runtime);
  if (!decision.allowed) co_return decision.refusal;
  const DumpProgress* progress = dumps_.progress((*runtime)->id);
  if (progress == nullptr) {
    const Refusal none{http_status::kNotFound, ipc::hresult::kFail,
                       "no dump of " + (*runtime)->name + " is under way; POST takes one"};
    co_return none;
  }
  std::function<std::string()> make = [text = to_json(*progress)] { return text; };
  co_await answer.json(std::move(make));
  co_return std::nullopt;
}

Handled DumpRequests::take(Answer& answer, Route route, const Caller& caller,
                           tl::expected<RuntimePtr, Refusal> runtime) {
  AuditEntry entry{"dump", caller};
  entry.command = ipc::name_of(ipc::kGenerateCoreDump3);
  std::optional<AuditOnExit> audited(std::in_place, audit_, entry, AuditOnExit::Clock::now());
  std::optional<Refusal> refused = decide(entry, runtime, authorize_dump);
  if (!refused) refused = co_await write(answer, std::move(route), **runtime, entry);
  if (refused) entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, refused->why};
  audited.reset();
  metrics_.dumps.add(entry.outcome.kind == Outcome::Kind::completed ? "completed" : "failed");
  co_return refused;
}

Handled DumpRequests::write(Answer& answer, Route route, Runtime runtime, AuditEntry& entry) {
  const auto wanted = request_of(route);
  if (!wanted) co_return wanted.error();
  const bool stay = route.parameter("stay") == "true";
  entry.arguments = arguments_of(*wanted, stay);
  const auto longest = longest_stop_of(route);
  if (!longest) co_return longest.error();
  if (*longest && route.parameter("keep") != "true")
    co_return not_sent(http_status::kBadRequest, "longest_stop is for a dump that is kept: add keep=true");
  const auto job = dumps_.start(runtime, *wanted);
  if (!job) co_return refusal_of(job.error());
  const auto straight =
      co_await write_dump(answer, **job, stay ? nullptr : answer.way_to_store(), *longest, entry);
  if (!straight) co_return straight.error();
  if (*straight) {
    entry.outcome = {};
    co_return std::nullopt;
  }
  if (stay) {
    const auto kept = (*job)->keep();
    if (!kept) co_return refusal_of(kept.error());
    entry.outcome = {};
    std::function<std::string()> make = [&kept] { return to_json(*kept); };
    co_await answer.json(std::move(make));
    co_return std::nullopt;
  }
  auto dump = (*job)->take();
  if (!dump) co_return refusal_of(dump.error());
  DumpProgress& progress = (*job)->progress();
  progress.phase = DumpProgress::Phase::sending;
  const bool compress = wants_zstd(answer.request(), compression_);
  begin_dump(answer, runtime, dump->size, compress);
  std::function<void(std::uint64_t)> on_sent = [&](std::uint64_t sent) {
    progress.sent = sent;
    entry.to_tool = sent;
  };
  const Result<void> sent =
      co_await send_dump(answer.passed_on(), std::move(*dump), compress, std::move(on_sent));
  entry.outcome = {};
  if (sent) co_return std::nullopt;
  entry.outcome = {Outcome::Kind::broken_off, sent.error().message()};
  answer.abort(sent.error());
  co_return std::nullopt;
}

Task<tl::expected<bool, Refusal>> DumpRequests::goes_straight(
    Dumps::Job& job, WayToStore* way, std::optional<transport::Milliseconds> longest) {
  const std::uint64_t bytes = job.progress().estimate.value_or(0);
  const Result<void> within_limits = job.check_limits();
  if (!within_limits) co_return tl::unexpected(refusal_of(within_limits.error()));
  const Result<void> room = job.check_room();
  // How long it would take is not known then.
  if (bytes == 0 && room) co_return false;
  if (bytes == 0) co_return tl::unexpected(refusal_of(room.error()));
  if (way == nullptr) {
    if (room || !longest) co_return false;
    co_return tl::unexpected(
        no_room(room.error(), "no store of this agent gets dumps while they are written (egress.stream)"));
  }
  const std::string offer = offer_of(bytes, *way);
  if (!longest) {
    if (room) co_return false;
    co_return tl::unexpected(no_room(room.error(), offer + "; --longest-stop allows that"));
  }
  bool has_room = room.has_value();
  if (has_room) has_room = co_await way->has_room_here(bytes);
  if (has_room) co_return false;
  if (time_for(bytes, *way) > *longest) {
    const std::string allowed =
        fmt::format("only {} s are allowed", std::chrono::duration<double>(*longest).count());
    co_return tl::unexpected(
        refusal_of(Error{"take a dump of", job.runtime().name, "there is no room for it here, and " + allowed,
                         offer + "; --longest-stop allows that"}));
  }
  co_return true;
}

Task<tl::expected<bool, Refusal>> DumpRequests::write_dump(Answer& answer, Dumps::Job& job, WayToStore* way,
                                                           std::optional<transport::Milliseconds> longest,
                                                           AuditEntry& entry) {
  const auto stop = answer.when_gone([&job] {
    job.stop(Error{"take a dump for", "a caller", "it is gone", {}, Cause(ECANCELED)});
  });
  const Result<void> prepared = co_await job.prepare();
  if (!prepared) co_return tl::unexpected(refusal_of(prepared.error()));
  const auto straight = co_await goes_straight(job, way, longest);
  if (!straight) co_return tl::unexpected(straight.error());
  Result<void> written;
  if (*straight) {
    entry.arguments = straight_arguments_of(job.request(), way->store());
    written = co_await write_straight(answer, job, *way, *longest);
    entry.to_tool = job.progress().sent;
  } else {
    written = co_await job.write();
  }
  if (!written) co_return tl::unexpected(refusal_of(written.error()));
  co_return *straight;
}

namespace {

/// The rows of GET /v1/access. There is one for each pair of a command and a runtime that the caller sees, or
/// one for the command alone if the caller sees none. A row says whether the caller may, by which grant, or
/// why not.
class AccessRows {
 public:
  /// `registry` and `caller` must outlive this. `commands` are some of auth::all_permissions().
  AccessRows(Registry& registry, const Caller& caller, std::vector<std::string_view> commands)
      : registry_(&registry), caller_(&caller), commands_(std::move(commands)) {}

  /// Appends the next row, a JSON object. Returns false if there is none.
  bool append_next(std::string& to);

 private:
  Registry* registry_;
  const Caller* caller_;
  std::vector<std::string_view> commands_;
  std::size_t command_ = 0;
  std::string last_id_;  ///< The runtime of the last row for this command; empty before the first.
};

json row_of(const auth::Access& access, std::string_view command, const Runtime* runtime) {
  const auth::GrantMatch match =
      access.may(command, runtime == nullptr ? auth::RuntimeTraits{} : traits_of(*runtime));
  json row = {{"command", command}, {"allowed", match.allowed}};
  if (runtime != nullptr)
    row["runtime"] = {{"id", runtime->id}, {"name", runtime->name}, {"pid", runtime->pid}};
  if (match.allowed) {
    row["rule"] = match.rule;
    row["role"] = match.role;
  } else {
    row["why"] = match.why;
  }
  return row;
}

bool AccessRows::append_next(std::string& to) {
  const Registry::Filter seen = [this](const Runtime& runtime) { return caller_->sees(runtime); };
  while (command_ < commands_.size()) {
    const std::string_view command = commands_[command_];
    const auto next = registry_->next_after(last_id_, seen);
    if (next) {
      last_id_ = next->runtime->id;
      to += text_of(row_of(*caller_->access, command, next->runtime.get()));
      return true;
    }
    ++command_;
    if (!std::exchange(last_id_, std::string()).empty()) continue;
    to += text_of(row_of(*caller_->access, command, nullptr));
    return true;
  }
  return false;
}

using transport::IoStatus;

/// Watches that one session may have at once. A mirror has one.
constexpr std::size_t kMaxWatches = 4;

struct Counted {
  explicit Counted(std::size_t& all) : count(all) { ++count; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count; }
  std::size_t& count;
};

}  // namespace

tl::expected<RuntimePtr, Refusal> RuntimeRequests::find(const Route& route, const Caller& caller) const {
  RuntimePtr known = registry_.find(route.id);
  // A runtime that the caller may not see looks like one that does not exist.
  if (known != nullptr && caller.sees(*known)) return known;
  return tl::unexpected(Refusal{http_status::kNotFound, ipc::hresult::kFail,
                                "there is no runtime " + route.id + "; GET /v1/runtimes lists them"});
}

transport::HeaderFields RuntimeRequests::instance_field() const {
  return {{std::string(resumption_field::kInstance), instance_}};
}

Handled RuntimeRequests::list(Answer& answer, const Route& route, CallerSession& session) {
  return route.parameter("watch") == "true" ? watch(answer, session) : list_once(answer, session);
}

Handled RuntimeRequests::list_once(Answer& answer, CallerSession& session) {
  AppendItem append = [this, seen = session.visible(), last = std::string()](std::string& to) mutable {
    const auto next = registry_.next_after(last, seen);
    if (!next) return false;
    to += *next->text;
    last = next->runtime->id;
    return true;
  };
  co_await answer.array(instance_field(), std::move(append));
  co_return std::nullopt;
}

/// Sends the head of a watch, which also says how often this agent may be asked.
void RuntimeRequests::begin_watch(Answer& answer) const {
  transport::HeaderFields fields = instance_field();
  fields.emplace_back("content-type", "application/x-ndjson");
  fields.emplace_back(pace_field::kRate, std::to_string(requests_per_second_));
  answer.begin(std::move(fields));
}

Handled RuntimeRequests::watch(Answer& answer, CallerSession& session) {
  if (session.watches >= kMaxWatches) {
    Refusal many{http_status::kTooManyRequests, ipc::hresult::kBusy,
                 "this session follows the runtimes " + std::to_string(kMaxWatches) + " times already"};
    co_return many;
  }
  const Counted counted(session.watches);
  const auto watch = registry_.watch(session.visible());
  begin_watch(answer);
  const auto close = answer.when_gone([&watch] { watch->close(); });
  for (IoStatus written = IoStatus::ok; written == IoStatus::ok;) {
    const std::optional<RuntimeEvent> event = co_await watch->next();
    if (!event) break;
    answer.count_kept(watch->kept_bytes());
    written = co_await answer.event(to_json_line(*event));
  }
  co_return std::nullopt;
}

Handled RuntimeRequests::process(Answer& answer, Route route, CallerSession& session) {
  const auto runtime = find(route, session.caller);
  if (!runtime) co_return runtime.error();
  const ProcessCondition condition = co_await halts_.look((*runtime)->id);
  std::function<std::string()> make = [&condition] { return to_json(condition); };
  co_await answer.json(std::move(make));
  co_return std::nullopt;
}

Handled RuntimeRequests::access(Answer& answer, Route route, CallerSession& session) {
  const std::string command = route.parameter("command");
  const auto known = auth::all_permissions();
  if (!command.empty() && std::find(known.begin(), known.end(), command) == known.end()) {
    Refusal unknown{http_status::kBadRequest, ipc::hresult::kFail, "there is no command " + command};
    co_return unknown;
  }
  std::vector<std::string_view> wanted;
  std::copy_if(known.begin(), known.end(), std::back_inserter(wanted),
               [&](std::string_view each) { return command.empty() || each == command; });
  AccessRows rows(registry_, session.caller, std::move(wanted));
  AppendItem append = [rows = std::move(rows)](std::string& to) mutable { return rows.append_next(to); };
  co_await answer.array(instance_field(), std::move(append));
  co_return std::nullopt;
}

}  // namespace farport::router
