// From the words of a command line to what its flags were given.
#include "cli/options/options.hpp"

#include <catch2/catch.hpp>

#include "config/resolve.hpp"

using namespace farport;
using cli::parse_command_line;

namespace {

using Texts = std::vector<std::string>;

config::Flags flags_of(Texts words) {
  words.insert(words.begin(), "farport");
  std::vector<const char*> pointers;
  pointers.reserve(words.size());
  for (const std::string& word : words) pointers.push_back(word.c_str());
  return parse_command_line(static_cast<int>(pointers.size()), pointers.data())->flags;
}

/// `serve` with all that it needs, and these words.
config::Flags serve_with(const Texts& words) {
  Texts all{"serve", "--listen", "127.0.0.1:9000", "--tls-cert", "c", "--tls-key", "k", "--tls-ca", "a"};
  all.insert(all.end(), words.begin(), words.end());
  return flags_of(std::move(all));
}

/// The texts of the grants that hold for these words and variables.
Texts grants_of(const Texts& words, const std::map<std::string, std::string>& variables = {}) {
  config::Flags flags = serve_with(words);
  config::take_environment(flags, [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
  const auto settings = config::resolve_serve(flags);
  if (!settings) return settings.error();
  Texts texts;
  for (const auth::Grant& grant : settings->policy.grants) texts.push_back(grant.text);
  return texts;
}

}  // namespace

TEST_CASE("each kind of flag is given what stands on the command line") {
  const auto given = serve_with({"--reuse-port", "--drain", "3s", "--search", "/a", "--search=/b"}).given;
  CHECK(given.at("reuse-port") == Texts{""});
  CHECK(given.at("drain") == Texts{"3s"});
  CHECK(given.at("search") == Texts{"/a", "/b"});
  CHECK_FALSE(given.contains("allow-all"));
  CHECK_FALSE(given.contains("grace"));
  CHECK(serve_with({"--allow-all"}).given.at("allow-all") == Texts{""});
  CHECK(serve_with({"--allow-all=operator"}).given.at("allow-all") == Texts{"operator"});
}

TEST_CASE("everybody gets the role that is given, and the flag goes before the variable") {
  CHECK(grants_of({"--allow-all"}) == Texts{"allow-all"});
  CHECK(grants_of({"--allow-all=operator"}) == Texts{"allow-all=operator"});
  CHECK(grants_of({"--allow-all=operator", "--allow-all=observer"}) == Texts{"allow-all=observer"});
  CHECK(grants_of({"--allow-all"}, {{"FARPORT_ALLOW_ALL", "admin"}}) == Texts{"allow-all"});
  CHECK(grants_of({}, {{"FARPORT_ALLOW_ALL", "admin"}}) == Texts{"allow-all=admin"});
}

TEST_CASE("--json and --format json are the same for each command") {
  for (const char* command : {"ps", "can-i", "doctor", "check", "connect"}) {
    INFO(command);
    CHECK(flags_of({command, "a:1", "--json"}).json);
    CHECK(flags_of({command, "a:1", "--format", "json"}).json);
    CHECK_FALSE(flags_of({command, "a:1", "--format", "text"}).json);
    CHECK_FALSE(flags_of({command, "a:1"}).json);
  }
  for (const char* command : {"counters", "logs", "exceptions", "stacks", "gcdump", "top"}) {
    INFO(command);
    CHECK(flags_of({command, "a:1", "--json"}).format == "json");
    CHECK(flags_of({command, "a:1", "--json", "--format", "json"}).format == "json");
  }
}
