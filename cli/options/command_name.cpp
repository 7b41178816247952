#include "cli/options/command_name.hpp"

#include <algorithm>
#include <vector>

#include "auth/rules.hpp"
#include "config/values.hpp"

namespace farport::cli {

Result<void> check_command_name(const std::string& command) {
  std::vector<std::string> known;
  for (const std::string_view permission : auth::all_permissions()) known.emplace_back(permission);
  if (std::find(known.begin(), known.end(), command) != known.end()) return {};
  const std::string meant = config::nearest(command, known);
  return fail("ask for the command", command, "there is none of this name",
              meant.empty() ? "farport can-i AGENT lists them" : "did you mean " + meant + "?");
}

}  // namespace farport::cli
