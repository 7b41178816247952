#include "cli/commands/introduction.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/version.hpp"

namespace farport::cli {
namespace {

namespace step = router::step;
using Level = Finding::Level;
using router::Diagnosis;

Diagnosis introduced(std::string_view step, Level level, std::string text, std::string hint = {}) {
  return {std::string(step), {level, std::move(text), std::move(hint)}};
}

}  // namespace

Result<Introduction> introduction_in(const std::string& body) {
  const nlohmann::json answer = nlohmann::json::parse(body, nullptr, false);
  if (!answer.is_object()) return fail("read", "what the agent says of itself", "it is no JSON object");
  const auto text = [](const nlohmann::json& object, const char* name) {
    constexpr std::size_t kLongest = 200;
    const auto member = object.find(name);
    const bool is_text = member != object.end() && member->is_string();
    return is_text ? member->get<std::string>().substr(0, kLongest) : std::string("?");
  };
  Introduction introduction{text(answer, "version"), text(answer, "identity"), {}};
  const auto grants = answer.find("grants");
  constexpr std::size_t kMostGrants = 20;
  if (grants == answer.end() || !grants->is_array()) return introduction;
  for (std::size_t i = 0; i < std::min(grants->size(), kMostGrants); ++i) {
    const nlohmann::json& grant = (*grants)[i];
    if (grant.is_object())
      introduction.roles += (introduction.roles.empty() ? "" : ", ") + text(grant, "role");
  }
  return introduction;
}

Diagnosis diagnosis_of_version(const std::string& agent, const std::string& version) {
  const std::string own(kVersion);
  const std::string answers = agent + " answers: farport " + version;
  if (version == own)
    return introduced(step::kVersion, Level::ok, answers + ", the same version as this one");
  return introduced(step::kVersion, Level::warning, answers + ", and this is " + own,
                    "what both know works; where something is missing, update the older one");
}

Diagnosis diagnosis_of_access(const Introduction& introduction) {
  const std::string who = "you are " + introduction.identity + " there";
  if (introduction.roles.empty()) {
    return introduced(step::kAccess, Level::problem, who + ", without a role",
                      "have one granted there: --allow-cn NAME=ROLE or [[grants]]");
  }
  return introduced(step::kAccess, Level::ok, who + ", with the role " + introduction.roles);
}

}  // namespace farport::cli
