#include "router/agent/api/dump_requests.hpp"

#include <cerrno>

#include <fmt/core.h>

#include "base/text.hpp"
#include "router/agent/api/caller_session.hpp"
#include "router/agent/dumps/dump.hpp"
#include "router/agent/gate/gate.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/session_options.hpp"

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
  return request;
}

/// Turns an error of a dump into a refusal, with the runtime's HRESULT if it gave one.
Refusal refusal_of(const Error& error) {
  const bool by_runtime = error.cause.kind() == Cause::Kind::runtime;
  const std::uint32_t hresult = by_runtime ? error.cause.value() : std::uint32_t{ipc::hresult::kFail};
  return {error.cause == EBUSY ? http_status::kConflict : http_status::kBadGateway, hresult, error.message()};
}

/// Sends the head of an answer whose body is a dump.
void begin_dump(Response& response, const Runtime& runtime, std::uint64_t size, bool compress) {
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
  response.send_head(http_status::kOk, fields, true);
}

Task<Result<void>> write_for(transport::Stream& caller, Dumps::Job& job) {
  const transport::WhenGone stop(caller, [&job] {
    job.stop(Error{"take a dump for", "a caller", "it is gone", {}, ECANCELED});
  });
  const Result<void> written = co_await job.write();
  co_return written;
}

std::string arguments_of(const DumpRequest& request, bool stay) {
  return fmt::format(R"({{"type":"{}","flags":{},"stay":{}}})", ipc::name_of(request.type), request.flags,
                     stay);
}

}  // namespace

Handled DumpRequests::progress(Response& response, const Caller& caller,
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
  co_await response.send(http_status::kOk, kJson, to_json(*progress));
  co_return std::nullopt;
}

Handled DumpRequests::take(Response& response, Route route, const Caller& caller,
                           tl::expected<RuntimePtr, Refusal> runtime) {
  AuditEntry entry{"dump", caller};
  entry.command = ipc::name_of(ipc::kGenerateCoreDump3);
  std::optional<AuditOnExit> audited(std::in_place, audit_, entry, AuditOnExit::Clock::now());
  std::optional<Refusal> refused = decide(entry, runtime, authorize_dump);
  if (!refused) refused = co_await write(response, std::move(route), **runtime, entry);
  if (refused) entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, refused->why};
  audited.reset();
  metrics_.dumps.add(entry.outcome.kind == Outcome::Kind::completed ? "completed" : "failed");
  co_return refused;
}

Handled DumpRequests::write(Response& response, Route route, Runtime runtime, AuditEntry& entry) {
  const auto wanted = request_of(route);
  if (!wanted) co_return wanted.error();
  const bool stay = route.parameter("stay") == "true";
  entry.arguments = arguments_of(*wanted, stay);
  const auto job = dumps_.start(runtime, *wanted);
  if (!job) co_return refusal_of(job.error());
  const Result<void> written = co_await write_for(response.stream(), **job);
  if (!written) co_return refusal_of(written.error());
  if (stay) {
    const auto kept = (*job)->keep();
    if (!kept) co_return refusal_of(kept.error());
    entry.outcome = {};
    co_await response.send(http_status::kOk, kJson, to_json(*kept));
    co_return std::nullopt;
  }
  auto dump = (*job)->take();
  if (!dump) co_return refusal_of(dump.error());
  DumpProgress& progress = (*job)->progress();
  progress.phase = DumpProgress::Phase::sending;
  const bool compress = wants_zstd(response.request(), compression_);
  begin_dump(response, runtime, dump->size, compress);
  std::function<void(std::uint64_t)> on_sent = [&](std::uint64_t sent) {
    progress.sent = sent;
    entry.to_tool = sent;
  };
  const Result<void> sent =
      co_await send_dump(response.stream(), std::move(*dump), compress, std::move(on_sent));
  entry.outcome = {};
  if (sent) co_return std::nullopt;
  entry.outcome = {Outcome::Kind::broken_off, sent.error().message()};
  response.stream().abort(sent.error());
  co_return std::nullopt;
}

}  // namespace farport::router
