#include "router/agent/api/access_json.hpp"

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

std::string access_rows(const Caller& caller, const std::vector<Runtime>& runtimes,
                        std::string_view command) {
  if (runtimes.empty()) return text_of(row_of(*caller.access, command, nullptr));
  std::string rows;
  for (const Runtime& runtime : runtimes) {
    if (!rows.empty()) rows += ',';
    rows += text_of(row_of(*caller.access, command, &runtime));
  }
  return rows;
}

}  // namespace farport::router
