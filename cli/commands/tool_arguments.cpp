#include "cli/commands/tool_arguments.hpp"

#include <array>
#include <utility>

#include "base/text.hpp"

namespace farport::cli {
namespace {

using Kind = ToolTarget::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 6> kOptions{{
    {"--diagnostic-port", Kind::diagnostic_port},
    {"--dport", Kind::diagnostic_port},
    {"--process-id", Kind::process_id},
    {"-p", Kind::process_id},
    {"--name", Kind::name},
    {"-n", Kind::name},
}};

/// Whether the text is HOST:PORT, with an IPv6 address in brackets.
bool is_host_and_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || !all_digits(text.substr(colon + 1))) return false;
  const std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  return bracketed || host.find_first_of(":/") == std::string_view::npos;
}

}  // namespace

std::vector<ToolTarget> find_targets(const std::vector<std::string>& arguments) {
  std::vector<ToolTarget> targets;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    // Arguments after "--" belong to a program that the tool starts.
    if (argument == "--") break;
    for (const auto& [option, kind] : kOptions) {
      if (argument == option && i + 1 < arguments.size() && arguments[i + 1] != "--") {
        targets.push_back({kind, i + 1, {}, arguments[i + 1]});
      } else if (argument.size() > option.size() && argument.starts_with(option) &&
                 (argument[option.size()] == '=' || argument[option.size()] == ':')) {
        targets.push_back(
            {kind, i, argument.substr(0, option.size() + 1), argument.substr(option.size() + 1)});
      }
    }
  }
  return targets;
}

Result<std::optional<RemotePort>> parse_remote_port(std::string_view value) {
  const std::size_t comma = value.find(',');
  const std::string_view address = value.substr(0, comma);
  const std::size_t slash = address.find('/');
  const std::string_view agent = address.substr(0, slash);
  if (!is_host_and_port(agent)) return std::optional<RemotePort>{};
  const std::string_view mode = comma == std::string_view::npos ? "connect" : value.substr(comma + 1);
  if (mode != "connect" && mode != "listen") {
    return fail("use the diagnostic port", value, "the mode after the comma must be connect or listen",
                "remove the comma and the text after it");
  }
  RemotePort port;
  port.listen = mode == "listen";
  port.agent = agent;
  if (slash != std::string_view::npos) port.runtime = address.substr(slash + 1);
  return std::optional<RemotePort>(std::move(port));
}

}  // namespace farport::cli
