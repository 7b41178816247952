#include "router/agent/api/runtime_requests.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/agent/api/caller_session.hpp"
#include "router/agent/gate/gate.hpp"
#include "router/agent/runtimes/registry.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/json_members.hpp"
#include "router/wire/runtime.hpp"

namespace farport::router {
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
using transport::Task;

/// Watches that one session may have at once. A mirror has one.
constexpr std::size_t kMostWatches = 4;

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

Handled RuntimeRequests::list(Response& response, const Route& route, CallerSession& session) {
  return route.parameter("watch") == "true" ? watch(response, session) : list_once(response, session);
}

Handled RuntimeRequests::list_once(Response& response, CallerSession& session) {
  AppendItem append = [this, seen = session.visible(), last = std::string()](std::string& to) mutable {
    const auto next = registry_.next_after(last, seen);
    if (!next) return false;
    to += *next->text;
    last = next->runtime->id;
    return true;
  };
  co_await send_array(response, *session.share->share(), instance_field(), std::move(append));
  co_return std::nullopt;
}

/// Sends the head of a watch, which also says how often this agent may be asked.
void RuntimeRequests::begin_watch(Response& response) const {
  transport::HeaderFields fields = instance_field();
  fields.emplace_back("content-type", "application/x-ndjson");
  fields.emplace_back(pace_field::kRate, std::to_string(requests_per_second_));
  response.send_head(http_status::kOk, std::move(fields), true);
}

Handled RuntimeRequests::watch(Response& response, CallerSession& session) {
  if (session.watches >= kMostWatches) {
    Refusal many{http_status::kTooManyRequests, ipc::hresult::kBusy,
                 "this session follows the runtimes " + std::to_string(kMostWatches) + " times already"};
    co_return many;
  }
  const Counted counted(session.watches);
  const auto watch = registry_.watch(session.visible());
  begin_watch(response);
  const transport::WhenGone close(response.stream(), [&watch] { watch->close(); });
  for (IoStatus written = IoStatus::ok; written == IoStatus::ok;) {
    const std::optional<RuntimeEvent> event = co_await watch->next();
    if (!event) break;
    response.count_kept(watch->kept_bytes());
    const std::string line = to_json_line(*event);
    written = co_await response.stream().write(std::as_bytes(std::span(line)));
  }
  co_return std::nullopt;
}

Handled RuntimeRequests::process(Response& response, Route route, CallerSession& session) {
  const auto runtime = find(route, session.caller);
  if (!runtime) co_return runtime.error();
  const ProcessCondition condition = co_await halts_.look((*runtime)->id);
  co_await response.send(http_status::kOk, kJson, to_json(condition));
  co_return std::nullopt;
}

Handled RuntimeRequests::access(Response& response, Route route, CallerSession& session) {
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
  co_await send_array(response, *session.share->share(), instance_field(), std::move(append));
  co_return std::nullopt;
}

}  // namespace farport::router
