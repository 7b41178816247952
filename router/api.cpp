#include "router/api.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/version.hpp"
#include "ipc/commands.hpp"
#include "router/http_status.hpp"
#include "router/relay.hpp"
#include "router/runtime_json.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Http2Stream;
using transport::IoStatus;
using transport::Task;

constexpr std::string_view kRuntimes = "/v1/runtimes";
constexpr std::string_view kIpcSuffix = "/ipc";

/// A request target (RFC 9113 section 8.3.1): the path, and what follows the question mark.
struct Target {
  std::string_view path;
  std::string_view query;
};
Target split_target(std::string_view target) {
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

/// The {id} of /v1/runtimes/{id}/ipc; empty where the path is another.
std::string ipc_target(std::string_view path) {
  const std::string prefix = std::string(kRuntimes) + "/";
  if (!path.starts_with(prefix) || !path.ends_with(kIpcSuffix)) return {};
  path.remove_prefix(prefix.size());
  if (path.size() <= kIpcSuffix.size()) return {};
  path.remove_suffix(kIpcSuffix.size());
  return path.find('/') == std::string_view::npos ? std::string(path) : std::string();
}

/// The head of an answer whose body follows bit by bit. A function of its own, as is about(): GCC 12 destroys
/// the elements of an initializer list twice in a coroutine.
void begin_answer(Http2Stream& request, const char* content_type) {
  request.respond(http_status::kOk, {{"content-type", content_type}}, true);
}

std::string about(const AgentServices& services, const Caller& caller) {
  const auto up = std::chrono::steady_clock::now() - services.started;
  const nlohmann::json answer = {
      {"version", kVersion},
      {"uptime_seconds", std::chrono::duration_cast<std::chrono::seconds>(up).count()},
      {"identity", auth::describe(*caller.identity)},
      {"rule", *caller.rule},
      {"limits",
       {{"first_message_seconds", std::chrono::duration<double>(services.first_message_limit).count()}}}};
  return answer.dump();
}

}  // namespace

Task<Result<std::unique_ptr<transport::FdStream>>> open_runtime(AgentServices& services,
                                                                std::string runtime_id,
                                                                std::vector<std::byte> message) {
  RuntimePort* port = services.registry.port(runtime_id);
  if (port == nullptr) co_return fail("reach", "the runtime " + runtime_id, "it has ended");
  auto runtime = co_await port->open();
  if (!runtime) co_return runtime;
  const IoStatus written = co_await (*runtime)->write(message);
  if (written != IoStatus::ok) co_return tl::unexpected((*runtime)->error());
  const auto header = ipc::decode_header(message);
  if (header) services.suspended.command_sent(runtime_id, port, header->command());
  co_return runtime;
}

void log_outcome(AgentServices& services, const Caller& caller, const Runtime& runtime,
                 const ipc::Header& command, std::uint64_t to_tool,
                 std::chrono::steady_clock::time_point since, const std::optional<Error>& broken) {
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - since;
  services.log->info("{} on {} (pid {}) by {}: {} bytes in {:.3f} s{}{}", ipc::describe(command.command()),
                     runtime.name, runtime.pid, describe(caller), to_tool, took.count(),
                     broken ? ", broken off: " : "", broken ? broken->message() : "");
}

Task<void> Api::handle(std::unique_ptr<Http2Stream> request) {
  const std::string method = request->head().method;
  const std::string whole = request->head().path;
  const Target target = split_target(whole);
  const std::string id = ipc_target(target.path);
  if (!caller_.rule) {
    co_await refuse(*request, http_status::kForbidden, refusal(caller_));
  } else if (!id.empty()) {
    if (method == "POST") {
      co_await diagnostic_connection(*request, id);
    } else {
      co_await refuse(*request, http_status::kMethodNotAllowed,
                      "use POST: the body is a diagnostic connection");
    }
  } else if (target.path != kRuntimes && target.path != "/v1/agent") {
    co_await refuse(*request, http_status::kNotFound,
                    "there is no " + std::string(target.path) + "; see docs/wire.md");
  } else if (method != "GET") {
    co_await refuse(*request, http_status::kMethodNotAllowed, "use GET");
  } else if (target.path == "/v1/agent") {
    co_await about_agent(*request);
  } else if (target.query == "watch=true") {
    co_await watch(*request);
  } else {
    co_await list(*request);
  }
}

Task<void> Api::refuse(Http2Stream& request, int status, std::string why) {
  services_.log->info("refused {} {} to {}: {}", request.head().method, request.head().path,
                      describe(caller_), why);
  co_await request.respond(status, "application/json", error_json(why));
}

Task<void> Api::list(Http2Stream& request) {
  co_await request.respond(http_status::kOk, "application/json", to_json(services_.registry.all()));
}

Task<void> Api::watch(Http2Stream& request) {
  const auto watch = services_.registry.watch();
  begin_answer(request, "application/x-ndjson");
  Task<void> guard = [](Http2Stream& caller, Registry::Watch& events) -> Task<void> {
    co_await caller.gone();
    events.close();
  }(request, *watch);
  guard.start();
  for (IoStatus written = IoStatus::ok; written == IoStatus::ok;) {
    const std::optional<RuntimeEvent> event = co_await watch->next();
    if (!event) co_return;
    const std::string line = to_json_line(*event);
    written = co_await request.write(std::as_bytes(std::span(line)));
  }
}

Task<void> Api::about_agent(Http2Stream& request) {
  co_await request.respond(http_status::kOk, "application/json", about(services_, caller_));
}

Task<void> Api::diagnostic_connection(Http2Stream& request, std::string id) {
  const Runtime* known = services_.registry.find(id);
  if (known == nullptr) {
    co_await refuse(request, http_status::kNotFound,
                    "there is no runtime " + id + "; GET /v1/runtimes lists them");
    co_return;
  }
  // A copy: the runtime may end while its connection is being opened.
  const Runtime runtime = *known;
  bool late = false;
  std::optional<Result<FirstMessage>> first;
  {
    transport::Event read(services_.loop);
    Task<void> reading = [](Http2Stream& stream, std::optional<Result<FirstMessage>>& into,
                            transport::Event& done) -> Task<void> {
      into = co_await read_first_message(stream);
      done.set();
    }(request, first, read);
    reading.start();
    // Mostly it came together with the request.
    if (!first) {
      const transport::Deadline limit(services_.loop, services_.first_message_limit, [&] { read.set(); });
      co_await read.wait();
      late = !first;
    }
  }
  if (late) {
    co_await refuse(request, http_status::kRequestTimeout, "the first message did not come whole in time");
  } else if (!*first) {
    co_await refuse(request, http_status::kBadRequest, first->error().message());
  } else if (const auto why = not_supported(**first)) {
    co_await refuse(request, http_status::kNotImplemented, *why);
  } else {
    co_await carry(request, runtime, std::move(**first));
  }
}

Task<void> Api::carry(Http2Stream& request, Runtime runtime, FirstMessage first) {
  const auto since = std::chrono::steady_clock::now();
  auto opened = co_await open_runtime(services_, runtime.id, std::move(first.bytes));
  if (!opened) {
    co_await refuse(request, http_status::kBadGateway, opened.error().message());
    co_return;
  }
  transport::FdStream& port = **opened;
  {
    // The answer's head goes out with the runtime's first bytes, in one record.
    Task<void> guard = abort_when_gone(request, port);
    guard.start();
    co_await port.readable();
  }
  begin_answer(request, "application/octet-stream");
  const RelayOutcome outcome = co_await relay(request, port, services_.buffers);
  log_outcome(services_, caller_, runtime, first.header, outcome.to_tool, since, outcome.broken);
}

}  // namespace farport::router
