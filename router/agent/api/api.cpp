#include "router/agent/api/api.hpp"

#include <algorithm>

#include "router/agent/api/access_json.hpp"
#include "router/agent/api/route.hpp"
#include "router/agent/connections/refused.hpp"
#include "router/agent/connections/resumption.hpp"
#include "router/agent/metrics/metrics_text.hpp"
#include "router/wire/content_encoding.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/pace_fields.hpp"
#include "router/wire/resumption_fields.hpp"
#include "router/wire/runtime_json.hpp"

namespace farport::router {
namespace {

using transport::Http2Stream;
using transport::IoStatus;
using transport::Task;

constexpr const char* kJson = "application/json";
/// That one session may have at once: a mirror has one.
constexpr std::size_t kMostWatches = 4;

/// The head of an answer whose body follows bit by bit.
void begin_bytes(Answer& answer, bool as_zstd) {
  transport::HeaderFields fields;
  fields.emplace_back("content-type", "application/octet-stream");
  if (as_zstd) add_zstd(fields);
  answer.begin(http_status::kOk, std::move(fields), true);
}

/// Which agent this is, for callers that reach it at several addresses.
transport::HeaderFields instance_field(const AgentServices& services) {
  return {{std::string(resumption_field::kInstance), services.resumption.instance()}};
}

/// The head of a list of runtimes also tells how often this agent may be asked.
void begin_watch(Answer& answer, const AgentServices& services) {
  transport::HeaderFields fields = instance_field(services);
  fields.emplace_back("content-type", "application/x-ndjson");
  fields.emplace_back(pace_field::kRate, std::to_string(services.limits.settings().requests_per_second));
  answer.begin(http_status::kOk, std::move(fields), true);
}

/// A diagnostic connection that comes as a request.
class RequestEnd final : public ToolEnd {
 public:
  explicit RequestEnd(Answer& answer) : answer_(answer) {}
  [[nodiscard]] transport::Stream& stream() override { return answer_.stream(); }
  [[nodiscard]] bool wants_zstd(Compression mode) const override {
    return router::wants_zstd(answer_.request(), mode);
  }
  void accept(bool as_zstd) override { begin_bytes(answer_, as_zstd); }
  Task<void> refuse(Refusal refusal) override { return answer_refused(answer_, std::move(refusal)); }

 private:
  Answer& answer_;
};

Refusal bad_request(int status, std::string why) {
  return {status, ipc::hresult::kFail, std::move(why)};
}

Refusal head_too_large(std::uint64_t limit) {
  return bad_request(http_status::kHeadTooLarge, "the request's header fields have more than " +
                                                     std::to_string(limit) +
                                                     " bytes, which is limits.head_size of the agent");
}

}  // namespace

struct Api::Known {
  std::string_view method;
  std::string_view path;
  Handler handler;
  bool resumable = false;  ///< Its answer may go on after the session in which it was asked for.
};

tl::expected<Api::Known, Refusal> Api::handler_of(const Route& route) {
  static constexpr Known kRoutes[] = {
      {"GET", "/v1/runtimes", &Api::list},
      {"GET", "/v1/agent", &Api::about_agent},
      {"GET", "/v1/access", &Api::access},
      {"GET", "/v1/metrics", &Api::metrics},
      {"POST", "/v1/runtimes/{id}/ipc", &Api::connection, true},
      {"POST", "/v1/runtimes/{id}/dump", &Api::dump, true},
      {"GET", "/v1/runtimes/{id}/dump", &Api::dump_progress},
      {"POST", "/v1/connections/{token}", nullptr},
      {"DELETE", "/v1/connections/{token}", &Api::forget},
  };
  std::string_view method;
  for (const Known& known : kRoutes) {
    if (known.path != route.path) continue;
    if (known.method == route.method) return known;
    method = known.method;
  }
  if (!method.empty()) {
    return tl::unexpected(bad_request(http_status::kMethodNotAllowed, "use " + std::string(method)));
  }
  return tl::unexpected(
      bad_request(http_status::kNotFound, "there is no " + route.path + "; see docs/wire.md"));
}

Task<void> Api::handle(std::unique_ptr<Http2Stream> request) {
  ++services_.metrics.requests;
  const auto exceeded = session_->count_request();
  Route route = parse_route(request->head().method, request->head().path);
  const auto known = handler_of(route);
  PlainAnswer answer(*request);
  if (exceeded) {
    co_await refuse(answer, *exceeded);
  } else if (request->head().too_large) {
    services_.metrics.refused.add("head_size");
    co_await refuse(answer, head_too_large(services_.limits.settings().head_bytes));
  } else if (!known) {
    co_await refuse(answer, known.error());
  } else if (known->handler == nullptr) {
    co_await resume(std::move(request), std::move(route));
  } else if (known->resumable && Resumption::wanted(request->head())) {
    co_await outlive(std::move(request), known->handler, std::move(route));
  } else {
    co_await (this->*known->handler)(answer, std::move(route));
  }
}

Task<void> Api::outlive(std::unique_ptr<Http2Stream> request, Handler handler, Route route) {
  PlainAnswer plain(*request);
  auto answer = services_.resumption.begin(request, caller_);
  if (!answer) {
    co_await refuse(plain, answer.error());
    co_return;
  }
  Task<void> work = (this->*handler)(**answer, std::move(route));
  services_.resumption.spawn(
      [](std::shared_ptr<Api>, std::unique_ptr<ResumableAnswer> answered, Task<void> handled) -> Task<void> {
        // Not a parameter's, since those go in any order: the answer outlives what is done for it.
        Task<void> answering = std::move(handled);
        co_await answering;
        co_await answered->delivered();
      }(shared_from_this(), std::move(*answer), std::move(work)));
}

Task<void> Api::resume(std::unique_ptr<Http2Stream> request, Route route) {
  PlainAnswer plain(*request);
  auto refused = services_.resumption.resume(request, route.id, caller_);
  if (refused) co_await refuse(plain, std::move(*refused));
}

Task<void> Api::forget(Answer& answer, Route route) {
  const bool ended = services_.resumption.end(route.id, caller_);
  if (ended) return answer.whole(http_status::kOk, kJson, "{}");
  return refuse(answer, bad_request(http_status::kNotFound, "there is no such connection"));
}

Task<void> Api::refuse(Answer& answer, Refusal refusal) {
  note_refused(services_, caller_, answer.request().method + " " + answer.request().path, refusal.why);
  return answer_refused(answer, std::move(refusal));
}

Task<void> Api::refuse(Answer& answer, const Exceeded& exceeded) {
  return answer_refused(answer, note_exceeded(services_, caller_, exceeded));
}

Registry::Filter Api::visible() const {
  return [this](const Runtime& runtime) { return caller_.sees(runtime); };
}

tl::expected<RuntimePtr, Refusal> Api::runtime_of(const Route& route) const {
  RuntimePtr known = services_.registry.find(route.id);
  // One that the caller may not see is not there.
  if (known != nullptr && caller_.sees(*known)) return known;
  return tl::unexpected(bad_request(http_status::kNotFound,
                                    "there is no runtime " + route.id + "; GET /v1/runtimes lists them"));
}

Task<void> Api::list(Answer& answer, Route route) {
  if (route.parameter("watch") == "true") return watch(answer, std::move(route));
  std::vector<Runtime> runtimes = services_.registry.all(visible());
  const std::size_t count = runtimes.size();
  return array(answer, count, [all = std::move(runtimes)](std::size_t i) { return to_json(all[i]); });
}

Task<void> Api::array(Answer& answer, std::size_t parts, std::function<std::string(std::size_t)> part) {
  std::string body = "[";
  for (std::size_t i = 0; i < parts; ++i) {
    // There may be a thousand, and many who ask for them at once.
    co_await session_->share()->turn();
    const transport::Work work(*session_->share());
    const std::string items = part(i);
    if (body.size() > 1 && !items.empty()) body += ',';
    body += items;
    answer.count_kept(body.size());
  }
  body += ']';
  transport::HeaderFields fields = instance_field(services_);
  co_await answer.whole(http_status::kOk, kJson, std::move(body), std::move(fields));
}

Task<void> Api::text(Answer& answer, std::string type, std::function<std::string()> make) {
  co_await session_->share()->turn();
  std::string body;
  {
    const transport::Work work(*session_->share());
    body = make();
  }
  transport::HeaderFields fields = instance_field(services_);
  co_await answer.whole(http_status::kOk, std::move(type), std::move(body), std::move(fields));
}

Task<void> Api::watch(Answer& answer, Route) {
  if (watches_ >= kMostWatches) {
    Refusal many{http_status::kTooManyRequests, ipc::hresult::kBusy,
                 "this session follows the runtimes " + std::to_string(kMostWatches) + " times already"};
    co_await refuse(answer, std::move(many));
    co_return;
  }
  struct Counted {
    std::size_t& count;
    explicit Counted(std::size_t& all) : count(all) { ++count; }
    ~Counted() { --count; }
  } const counted(watches_);
  const auto watch = services_.registry.watch(visible());
  begin_watch(answer, services_);
  Task<void> guard = [](transport::Stream& caller, Registry::Watch& events) -> Task<void> {
    co_await caller.gone();
    events.close();
  }(answer.stream(), *watch);
  guard.start();
  for (IoStatus written = IoStatus::ok; written == IoStatus::ok;) {
    const std::optional<RuntimeEvent> event = co_await watch->next();
    if (!event) co_return;
    answer.count_kept(watch->kept_bytes());
    const std::string line = to_json_line(*event);
    written = co_await answer.stream().write(std::as_bytes(std::span(line)));
  }
}

Task<void> Api::about_agent(Answer& answer, Route) {
  return text(answer, kJson, [this] { return agent_json(services_, caller_); });
}

Task<void> Api::metrics(Answer& answer, Route) {
  return text(answer, kMetricsContentType, [this] { return metrics_text(services_); });
}

Task<void> Api::access(Answer& answer, Route route) {
  const std::string command = route.parameter("command");
  const auto known = auth::all_permissions();
  if (!command.empty() && std::find(known.begin(), known.end(), command) == known.end()) {
    return refuse(answer, bad_request(http_status::kBadRequest, "there is no command " + command));
  }
  return array(answer, known.size(),
               [this, command, known, runtimes = services_.registry.all(visible())](std::size_t i) {
                 const bool wanted = command.empty() || command == known[i];
                 return wanted ? access_rows(caller_, runtimes, known[i]) : std::string();
               });
}

Task<void> Api::connection(Answer& answer, Route route) {
  // The route is needed no more: there may be very many connections.
  return carry_connection(answer, runtime_of(route));
}

Task<void> Api::carry_connection(Answer& answer, tl::expected<RuntimePtr, Refusal> runtime) {
  const auto place = session_->begin_connection();
  if (!place) {
    co_await refuse(answer, place.error());
    co_return;
  }
  RequestEnd tool(answer);
  co_await carry_diagnostic_connection(services_, caller_, std::move(runtime), tool);
}

}  // namespace farport::router
