#include "router/agent/api/api.hpp"

#include "router/agent/api/caller_session.hpp"
#include "router/agent/connections/response.hpp"
#include "router/agent/metrics/metrics.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/session_options.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Http2Stream;
using transport::Task;

/// A diagnostic connection that comes in as an HTTP/2 request.
class RequestEndpoint final : public ToolEndpoint {
 public:
  explicit RequestEndpoint(Answer& answer) : answer_(answer) {}
  [[nodiscard]] transport::Stream& stream() override { return answer_.passed_on(); }
  [[nodiscard]] bool wants_zstd(Compression mode) const override {
    return router::wants_zstd(answer_.request(), mode);
  }
  void accept(bool as_zstd) override {
    transport::HeaderFields fields;
    fields.emplace_back("content-type", "application/octet-stream");
    if (as_zstd) add_zstd(fields);
    answer_.begin_connection(std::move(fields));
  }
  Task<void> refuse(Refusal refusal) override { return answer_.refuse(std::move(refusal)); }

 private:
  Answer& answer_;
};

Refusal bad_request(int status, std::string why) {
  return {status, ipc::hresult::kFail, std::move(why)};
}

/// The most memory of an examination, for its work and its result. It is charged before it begins.
constexpr std::size_t kMaxDoctorBytes = std::size_t{128} * 1024;

Refusal head_too_large(std::uint64_t limit) {
  return bad_request(http_status::kHeadTooLarge, "the request's header fields have more than " +
                                                     std::to_string(limit) +
                                                     " bytes, which is limits.head_size of the agent");
}

}  // namespace

/// A route and its handler.
struct Api::RouteEntry {
  /// Answering takes one of the caller's connection slots.
  static constexpr unsigned kInPlace = 1;
  /// The answer may outlive the session in which it was asked for.
  static constexpr unsigned kResumable = 2;
  /// With keep=true the answer becomes an artifact.
  static constexpr unsigned kKeepable = 4;

  std::string_view method;
  std::string_view path;
  Handler handler;
  unsigned how = 0;

  [[nodiscard]] bool is(unsigned flag) const { return (how & flag) != 0; }
};

tl::expected<Api::RouteEntry, Refusal> Api::handler_of(const Route& route) {
  constexpr unsigned kPlace = RouteEntry::kInPlace;
  constexpr unsigned kResumed = RouteEntry::kResumable;
  constexpr unsigned kTaken = RouteEntry::kInPlace | RouteEntry::kKeepable;
  static constexpr RouteEntry kRoutes[] = {
      {"GET", "/v1/runtimes", &Api::list},
      {"GET", "/v1/agent", &Api::about_agent},
      {"GET", "/v1/doctor", &Api::doctor},
      {"GET", "/v1/access", &Api::access},
      {"GET", "/v1/metrics", &Api::metrics},
      {"GET", "/v1/metrics/runtimes", &Api::app_metrics},
      {"GET", "/v1/rules", &Api::rules},
      {"GET", "/v1/runtimes/{id}/process", &Api::process},
      {"POST", "/v1/runtimes/{id}/ipc", &Api::connection, kResumed},
      {"POST", "/v1/runtimes/{id}/dump", &Api::dump, kTaken | kResumed},
      {"GET", "/v1/runtimes/{id}/dump", &Api::dump_progress},
      {"GET", "/v1/runtimes/{id}/trace", &Api::record, kTaken},
      {"GET", "/v1/runtimes/{id}/counters", &Api::record, kTaken},
      {"GET", "/v1/runtimes/{id}/logs", &Api::record, kTaken},
      {"GET", "/v1/runtimes/{id}/exceptions", &Api::record, kTaken},
      {"GET", "/v1/runtimes/{id}/stacks", &Api::record, kTaken},
      {"GET", "/v1/runtimes/{id}/gcdump", &Api::record, kTaken},
      {"POST", "/v1/runtimes/{id}/profile", &Api::profile, kTaken | kResumed},
      {"POST", "/v1/runtimes/{id}/recent", &Api::recent, kTaken | kResumed},
      {"POST", "/v1/runtimes/{id}/modules", &Api::modules, kTaken | kResumed},
      {"GET", "/v1/artifacts", &Api::list_artifacts, kPlace},
      {"GET", "/v1/artifacts/{id}", &Api::find_artifact, kPlace},
      {"POST", "/v1/artifacts/{id}", &Api::get_artifact, kPlace | kResumed},
      {"DELETE", "/v1/artifacts/{id}", &Api::remove_artifact, kPlace},
      {"POST", "/v1/connections/{token}", nullptr},
      {"DELETE", "/v1/connections/{token}", &Api::forget},
  };
  std::string_view method;
  for (const RouteEntry& known : kRoutes) {
    if (known.path != route.path) continue;
    if (known.method == route.method) return known;
    method = known.method;
  }
  if (!method.empty()) {
    return tl::unexpected(bad_request(http_status::kMethodNotAllowed, "use " + std::string(method)));
  }
  return tl::unexpected(
      bad_request(http_status::kNotFound, "there is no " + route.path + "; see docs/developers/wire.md"));
}

Task<void> Api::handle(std::unique_ptr<Http2Stream> request) {
  ++parts_.metrics.requests;
  const auto exceeded = session_.share->count_request();
  Route route = parse_route(request->head().method, request->head().path);
  const auto known = handler_of(route);
  PlainResponse plain(*request);
  Answer answer(plain, session_.share->account());
  if (exceeded) {
    co_await refuse(answer, *exceeded);
  } else if (request->head().too_large) {
    parts_.metrics.refused.add(auth::limit_of(&auth::LimitSettings::head_size).name());
    co_await refuse(answer, head_too_large(parts_.head_bytes));
  } else if (!known) {
    co_await refuse(answer, known.error());
  } else if (known->handler == nullptr) {
    co_await resume(std::move(request), std::move(route));
  } else if (known->is(RouteEntry::kKeepable) && route.parameter("keep") == "true") {
    co_await finish(answer, keep(answer, *known, std::move(route)));
  } else if (known->is(RouteEntry::kResumable) && ResumptionTable::wanted(request->head())) {
    co_await outlive(std::move(request), *known, std::move(route));
  } else {
    co_await finish(answer, handled(*known, answer, std::move(route)));
  }
}

/// Waits until a request has been handled, and sends the refusal if there is one.
Task<void> Api::finish(Answer& answer, Handled handled) {
  std::optional<Refusal> refused = co_await handled;
  if (refused) co_await refuse(answer, std::move(*refused));
}

Handled Api::handled(const RouteEntry& known, Answer& answer, Route route) {
  if (known.is(RouteEntry::kInPlace)) return in_place(answer, std::move(route), known.handler);
  return (this->*known.handler)(answer, std::move(route));
}

Handled Api::handled_over(Response& carrier, RouteEntry known, Route route) {
  Answer answer(carrier, session_.share->account());
  auto refused = co_await handled(known, answer, std::move(route));
  co_return refused;
}

Handled Api::keep(Answer& answer, RouteEntry known, Route route) {
  auto runtime = parts_.runtimes.find(route, session_.caller);
  if (!runtime) co_return runtime.error();
  ArtifactRequests::Handle handle = [this, known, route](Response& to) {
    return handled_over(to, known, route);
  };
  auto refused = co_await parts_.artifacts.keep(answer, route, session_.caller, std::move(*runtime),
                                                std::move(handle), shared_from_this());
  co_return refused;
}

Task<tl::expected<Artifact, Refusal>> Api::take(std::string method, std::string target, std::string cause) {
  transport::MessageHead request;
  request.method = method;
  request.path = target;
  const Route route = parse_route(method, target);
  const auto known = handler_of(route);
  if (!known) co_return tl::unexpected(known.error());
  auto runtime = parts_.runtimes.find(route, session_.caller);
  if (!runtime) co_return tl::unexpected(runtime.error());
  ArtifactRequests::Handle handle = [this, known, route](Response& to) {
    return handled_over(to, *known, route);
  };
  auto begun =
      co_await parts_.artifacts.begin(std::move(request), route, session_.caller, std::move(*runtime),
                                      std::move(handle), shared_from_this(), std::move(cause));
  co_return begun;
}

Task<void> Api::outlive(std::unique_ptr<Http2Stream> request, RouteEntry known, Route route) {
  PlainResponse plain(*request);
  Answer answer(plain, session_.share->account());
  auto resumable = parts_.resumption.begin(request, session_.caller);
  if (!resumable) {
    co_await refuse(answer, resumable.error());
    co_return;
  }
  parts_.resumption.spawn(
      answer_to_the_end(shared_from_this(), std::move(*resumable), known, std::move(route)));
}

Task<void> Api::answer_to_the_end(std::shared_ptr<Api> api, std::unique_ptr<ResumableResponse> carrier,
                                  RouteEntry known, Route route) {
  Answer answer(*carrier, api->session_.share->account());
  co_await api->finish(answer, api->handled(known, answer, std::move(route)));
  co_await carrier->delivered();
}

Task<void> Api::resume(std::unique_ptr<Http2Stream> request, Route route) {
  PlainResponse plain(*request);
  Answer answer(plain, session_.share->account());
  auto refused = parts_.resumption.resume(request, route.id, session_.caller);
  if (refused) co_await refuse(answer, std::move(*refused));
}

Handled Api::forget(Answer& answer, Route route) {
  const bool ended = parts_.resumption.end(route.id, session_.caller);
  if (!ended) co_return bad_request(http_status::kNotFound, "there is no such connection");
  std::function<std::string()> make = [] { return std::string("{}"); };
  co_await answer.json(std::move(make));
  co_return std::nullopt;
}

Task<void> Api::refuse(Answer& answer, Refusal refusal) {
  const std::string what = answer.request().method + " " + answer.request().path;
  parts_.refusals.refused(session_.caller, what, refusal.why);
  return answer.refuse(std::move(refusal));
}

Task<void> Api::refuse(Answer& answer, const LimitExceeded& exceeded) {
  return answer.refuse(parts_.refusals.limit_reached(session_.caller, exceeded));
}

Handled Api::list(Answer& answer, Route route) {
  return parts_.runtimes.list(answer, route, session_);
}

Handled Api::process(Answer& answer, Route route) {
  return parts_.runtimes.process(answer, std::move(route), session_);
}

Handled Api::access(Answer& answer, Route route) {
  return parts_.runtimes.access(answer, std::move(route), session_);
}

Handled Api::about_agent(Answer& answer, Route) {
  std::function<std::string()> make = [this] { return parts_.describe_agent(session_.caller); };
  co_await answer.text(kJson, parts_.runtimes.instance_field(), std::move(make));
  co_return std::nullopt;
}

Handled Api::doctor(Answer& answer, Route route) {
  // Why a list is empty is answered without a slot, so also to a caller who has used up its connections.
  if (route.parameter("runtimes") == "false") return examine(answer, std::move(route));
  return in_place(answer, std::move(route), &Api::examine);
}

Handled Api::examine(Answer& answer, Route route) {
  const Examine what = route.parameter("runtimes") == "false" ? Examine::search : Examine::all;
  co_await answer.time().turn();
  answer.count_kept(kMaxDoctorBytes);
  // Stop when the caller is gone or the answer is given up, so that the examination keeps no memory.
  auto examined = co_await first_of(parts_.examine(session_.caller, what, answer.time()), answer.gone());
  if (!examined) co_return std::nullopt;
  std::function<std::string()> make = [&examined] { return std::move(*examined); };
  co_await answer.text(kJson, parts_.runtimes.instance_field(), std::move(make));
  co_return std::nullopt;
}

Handled Api::metrics(Answer& answer, Route) {
  co_await answer.text(kMetricsContentType, parts_.runtimes.instance_field(), parts_.metrics_text);
  co_return std::nullopt;
}

Registry::Filter Api::counted() const {
  return [this](const Runtime& runtime) {
    return session_.caller.sees(runtime) &&
           session_.caller.access->may(ipc::name_of(ipc::kCollectTracing2), traits_of(runtime)).allowed;
  };
}

Handled Api::app_metrics(Answer& answer, Route) {
  if (!parts_.app_metrics_text)
    co_return bad_request(
        http_status::kNotFound,
        "this agent collects no application metrics: start it with farport serve --app-metrics");
  std::function<std::string()> make = [this] { return parts_.app_metrics_text(counted()); };
  co_await answer.text(kMetricsContentType, parts_.runtimes.instance_field(), std::move(make));
  co_return std::nullopt;
}

Handled Api::connection(Answer& answer, Route route) {
  // Pass on the runtime and not the route, to save memory: there may be very many connections.
  return carry_connection(answer, parts_.runtimes.find(route, session_.caller));
}

Handled Api::carry_connection(Answer& answer, tl::expected<RuntimePtr, Refusal> runtime) {
  const auto place = session_.share->begin_connection();
  if (!place) {
    co_await refuse(answer, place.error());
    co_return std::nullopt;
  }
  RequestEndpoint tool(answer);
  co_await parts_.connections.carry(session_.caller, std::move(runtime), tool);
  co_return std::nullopt;
}

Handled Api::rules(Answer& answer, Route) {
  if (!parts_.rules_text)
    co_return not_sent(http_status::kNotFound, "this agent has no rules: [[rules]] in its file makes some");
  std::function<std::string()> make = [this] { return parts_.rules_text(counted()); };
  co_await answer.text(kJson, parts_.runtimes.instance_field(), std::move(make));
  co_return std::nullopt;
}

/// Runs `work` while it holds one of the caller's connection slots.
Handled Api::in_place(Answer& answer, Route route, Handler work) {
  const auto place = session_.share->begin_connection();
  if (!place) {
    co_await refuse(answer, place.error());
    co_return std::nullopt;
  }
  std::optional<Refusal> refused = co_await (this->*work)(answer, std::move(route));
  co_return refused;
}

Handled Api::record(Answer& answer, Route route) {
  const auto runtime = parts_.runtimes.find(route, session_.caller);
  if (!runtime) co_return runtime.error();
  const std::string kind = route.path.substr(route.path.rfind('/') + 1);
  Parameters parameters = [asked = std::move(route)](std::string_view name) { return asked.parameter(name); };
  auto refused =
      co_await parts_.recordings.record(answer, kind, std::move(parameters), session_.caller, *runtime);
  co_return refused;
}

Handled Api::dump(Answer& answer, Route route) {
  auto runtime = parts_.runtimes.find(route, session_.caller);
  return parts_.dumps.take(answer, std::move(route), session_.caller, std::move(runtime));
}

Handled Api::profile(Answer& answer, Route route) {
  auto runtime = parts_.runtimes.find(route, session_.caller);
  return parts_.profiles.take(answer, std::move(route), session_.caller, std::move(runtime));
}

Handled Api::modules(Answer& answer, Route route) {
  auto runtime = parts_.runtimes.find(route, session_.caller);
  return parts_.modules.take(answer, std::move(route), session_.caller, std::move(runtime));
}

Handled Api::recent(Answer& answer, Route route) {
  auto runtime = parts_.runtimes.find(route, session_.caller);
  return parts_.recent.take(answer, std::move(route), session_.caller, std::move(runtime));
}

Handled Api::list_artifacts(Answer& answer, Route route) {
  return parts_.artifacts.list(answer, route, session_);
}

Handled Api::find_artifact(Answer& answer, Route route) {
  return parts_.artifacts.find(answer, std::move(route), session_.caller);
}

Handled Api::get_artifact(Answer& answer, Route route) {
  return parts_.artifacts.take(answer, std::move(route), session_.caller, parts_.recent);
}

Handled Api::remove_artifact(Answer& answer, Route route) {
  return parts_.artifacts.remove(answer, std::move(route), session_.caller);
}

Handled Api::dump_progress(Answer& answer, Route route) {
  return parts_.dumps.progress(answer, session_.caller, parts_.runtimes.find(route, session_.caller));
}

}  // namespace farport::router
