#include "router/agent/api/access_json.hpp"

#include <utility>

#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

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

}  // namespace

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

}  // namespace farport::router
