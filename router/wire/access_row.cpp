#include "router/wire/access_row.hpp"

#include "router/wire/json_members.hpp"

namespace farport::router {
namespace {

/// Values in the answer for very many runtimes: some ten a row.
constexpr std::size_t kAccessValues = 1'000'000;

}  // namespace

Result<std::vector<AccessRow>> access_from_json(std::string_view text) {
  try {
    std::vector<AccessRow> rows;
    for (const json& object : array_in(text, kAccessValues)) {
      AccessRow& row = rows.emplace_back();
      row.command = object.at("command").get<std::string>();
      row.allowed = object.at("allowed").get<bool>();
      row.rule = object.value("rule", "");
      row.role = object.value("role", "");
      row.why = object.value("why", "");
      if (!object.contains("runtime")) continue;
      row.runtime = object["runtime"].at("name").get<std::string>();
      row.pid = number_at<std::uint64_t>(object["runtime"], "pid");
    }
    return rows;
  } catch (const std::exception& error) {
    return fail("read", "the agent's answer", reason_of(error));
  }
}

}  // namespace farport::router
