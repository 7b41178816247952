#include "router/reach/inspected_container.hpp"

#include <algorithm>

namespace farport::router {
namespace {

using Json = nlohmann::json;

bool is_capability(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

std::vector<std::string> capabilities_of(const Json& list) {
  std::vector<std::string> names;
  if (!list.is_array()) return names;
  for (const Json& each : list) {
    std::string name = string_of(each);
    if (is_capability(name)) names.push_back(std::move(name));
  }
  return names;
}

bool is_id(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The fields of the first line whose field `key` is `wanted`; none where there is none (passwd(5),
/// group(5)).
std::vector<std::string_view> line_with(std::string_view file, std::size_t key, std::string_view wanted) {
  while (!file.empty()) {
    const std::size_t end = std::min(file.find('\n'), file.size());
    std::string_view line = file.substr(0, end);
    file.remove_prefix(std::min(end + 1, file.size()));
    std::vector<std::string_view> fields;
    for (std::size_t colon = 0; colon != std::string_view::npos;) {
      colon = line.find(':');
      fields.push_back(line.substr(0, colon));
      if (colon != std::string_view::npos) line.remove_prefix(colon + 1);
    }
    if (fields.size() > key && fields[key] == wanted) return fields;
  }
  return {};
}

/// "7" of "007".
std::string_view without_zeros(std::string_view number) {
  return number.substr(std::min(number.find_first_not_of('0'), number.size() - 1));
}

constexpr std::string_view kRoot = "root";
constexpr std::size_t kNameField = 0;
constexpr std::size_t kNumberField = 2;
constexpr std::size_t kGroupField = 3;

}  // namespace

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<InspectedContainer> parse_inspected(std::string_view json) {
  const Json parsed = Json::parse(json, nullptr, false);
  const Json& whole = parsed.is_array() && !parsed.empty() ? parsed.front() : parsed;
  InspectedContainer container;
  container.id = string_of(member(whole, "Id"));
  if (!is_id(container.id)) return fail("read", "what the engine says of the container", "it has no Id");
  container.running = member(member(whole, "State"), "Running") == true;
  container.paused = member(member(whole, "State"), "Paused") == true;
  const Json& pid = member(member(whole, "State"), "Pid");
  if (pid.is_number_unsigned()) container.pid = pid.get<std::uint64_t>();
  container.user = string_of(member(member(whole, "Config"), "User"));
  const Json& host = member(whole, "HostConfig");
  container.privileged = member(host, "Privileged") == true;
  container.added_capabilities = capabilities_of(member(host, "CapAdd"));
  container.dropped_capabilities = capabilities_of(member(host, "CapDrop"));
  return container;
}

bool needs_passwd(std::string_view user) {
  const std::size_t colon = user.find(':');
  const bool whole = colon != std::string_view::npos && is_number(user.substr(0, colon)) &&
                     is_number(user.substr(colon + 1));
  return !user.empty() && !whole;
}

Result<NumericUser> numeric_user(std::string_view user, std::string_view passwd, std::string_view group) {
  if (user.empty()) return NumericUser{"0", "0"};
  const std::size_t colon = user.find(':');
  const std::string_view name = user.substr(0, colon);
  const std::string_view group_name = colon == std::string_view::npos ? "" : user.substr(colon + 1);
  const auto entry = line_with(passwd, is_number(name) ? kNumberField : kNameField, name);
  const bool known =
      entry.size() > kGroupField && is_number(entry[kNumberField]) && is_number(entry[kGroupField]);
  if (!known && !is_number(name)) return fail("find", name, "its /etc/passwd has no such user");
  // What runs in the container may have written that since: it gets no helper of root's by it.
  if (!is_number(name) && name != kRoot && without_zeros(entry[kNumberField]) == "0") {
    return fail("trust", name, "the container's own /etc/passwd says that this user is root",
                "start the container with its user by number, or look at it from its host, by ssh://");
  }
  NumericUser found{std::string(without_zeros(known ? entry[kNumberField] : name)),
                    std::string(known ? entry[kGroupField] : "0")};
  if (group_name.empty()) return found;
  const auto group_entry = line_with(group, kNameField, group_name);
  if (is_number(group_name)) {
    found.group = group_name;
  } else if (group_entry.size() > kNumberField && is_number(group_entry[kNumberField])) {
    found.group = group_entry[kNumberField];
  } else {
    return fail("find", group_name, "its /etc/group has no such group");
  }
  return found;
}

}  // namespace farport::router
