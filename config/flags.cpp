#include "config/flags.hpp"

#include <algorithm>
#include <cstdlib>

#include "config/describe.hpp"

namespace farport::config {
namespace {

/// What credentials are made of.
constexpr std::string_view kCredentials[] = {"tls-cert", "tls-key", "tls-ca", "tls-bundle",
                                             "tls-passphrase-file"};

bool is_of_credentials(std::string_view flag) {
  return std::find(std::begin(kCredentials), std::end(kCredentials), flag) != std::end(kCredentials);
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> items;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t comma = std::min(list.find(',', start), list.size());
    if (comma > start) items.push_back(list.substr(start, comma - start));
    start = comma + 1;
  }
  return items;
}

/// What a variable's value gives its flag; nothing where that is left out.
std::vector<std::string> texts_of(Takes takes, const std::string& value) {
  const bool yes = value == "1" || value == "true";
  const bool no = value == "0" || value == "false";
  switch (takes) {
    case Takes::nothing:
      return yes ? std::vector<std::string>{""} : std::vector<std::string>{};
    case Takes::maybe_one:
      if (no) return {};
      return {yes ? "" : value};
    case Takes::many:
      return split(value);
    case Takes::one:
      break;
  }
  return {value};
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

bool gives_credentials(const Given& given) {
  const auto has = [&](const char* flag) { return given.contains(flag); };
  return has("tls-bundle") || (has("tls-cert") && has("tls-key") && has("tls-ca"));
}

void take_environment(Flags& flags, const Environment& environment) {
  const bool has_credentials = gives_credentials(flags.given);
  for (const Description& setting : descriptions()) {
    if (setting.flag.empty() || flags.given.contains(setting.flag)) continue;
    if (has_credentials && is_of_credentials(setting.flag)) continue;
    const auto value = environment(setting.variable);
    if (!value) continue;
    std::vector<std::string> texts = texts_of(setting.takes, *value);
    if (!texts.empty()) flags.given[setting.flag] = std::move(texts);
  }
  const auto either = [&](const char* name, const char* other) {
    return environment(name).value_or(environment(other).value_or(std::string()));
  };
  flags.https_proxy = either("HTTPS_PROXY", "https_proxy");
  flags.no_proxy = either("NO_PROXY", "no_proxy");
}

}  // namespace farport::config
