#include "cli/setup/helpers.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

#include <openssl/crypto.h>
#include <unistd.h>

#include "base/resources.hpp"
#include "cli/setup/confine.hpp"
#include "confinement/confinement.hpp"
#include "router/readers/answers.hpp"

namespace farport::cli {
namespace {

/// Wipes a passphrase that was typed before: helpers process hostile data and don't need it.
void forget(const config::TlsFiles& tls) {
  if (tls.passphrase == nullptr) return;
  const std::string_view text = tls.passphrase->text();
  OPENSSL_cleanse(const_cast<char*>(text.data()), text.size());
}

constexpr std::string_view kPathVariable = "PATH=";
constexpr const char* kUsualPathVariable =
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whether the variable, "NAME=VALUE", has this name, or begins with it if that ends in "*".
bool is_named(std::string_view variable, std::string_view name) {
  const std::string_view own = variable.substr(0, variable.find('='));
  return name.ends_with('*') ? own.starts_with(name.substr(0, name.size() - 1)) : own == name;
}

/// What a command has of this process's environment: the path, and what the settings name.
std::vector<std::string> environment_for(const config::CommandSettings& command) {
  std::vector<std::string> chosen;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable(*each);
    const bool wanted = std::ranges::any_of(
        command.environment, [variable](const std::string& name) { return is_named(variable, name); });
    if (wanted || variable.starts_with(kPathVariable)) chosen.emplace_back(variable);
  }
  const bool has_path =
      std::ranges::any_of(chosen, [](const auto& each) { return each.starts_with(kPathVariable); });
  if (!has_path) chosen.emplace_back(kUsualPathVariable);
  return chosen;
}

/// The path of a program: as it is, or by the PATH of the environment. Errors: there is none.
Result<std::string> find_program(const std::string& program, const std::vector<std::string>& environment) {
  if (program.find('/') != std::string::npos) {
    if (::access(program.c_str(), X_OK) != 0) return fail_errno("run the program", program, errno);
    return std::filesystem::absolute(program).string();
  }
  const auto path =
      std::ranges::find_if(environment, [](const auto& each) { return each.starts_with(kPathVariable); });
  std::string_view rest = std::string_view(*path).substr(kPathVariable.size());
  while (!rest.empty()) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), directory.size() + 1));
    std::string found = std::string(directory) + "/" + program;
    if (::access(found.c_str(), X_OK) == 0) return found;
  }
  return fail("run the program", program, "it is not there", "install it, or write its path");
}

/// What the reader starter and each reader give up. `tls` must exist until the starter has been started.
router::ReaderProcess::GivenUp given_up(const config::TlsFiles& tls, bool confined, bool behind_others) {
  return {[&tls] { forget(tls); },
          [confined] {
            if (confined) confinement::confine_reader_starter();
          },
          [confined] { return !confined || confinement::confine_parser(); }, behind_others};
}

}  // namespace

std::shared_ptr<const router::SamplerProcess> start_sampler(const config::ServeSettings& settings,
                                                            const Log& log) {
  auto started = router::SamplerProcess::start([&settings] {
    forget(settings.tls);
    prefer_as_oom_victim();
    if (settings.confinement.mode != "off") confinement::confine_sampler();
  });
  if (started) return std::make_shared<const router::SamplerProcess>(std::move(*started));
  log->warn("{}: nothing can be profiled", started.error().message());
  return nullptr;
}

std::shared_ptr<const router::ReaderProcess> start_readers(const config::ServeSettings& settings,
                                                           const Log& log) {
  auto started = router::ReaderProcess::start(
      given_up(settings.tls, settings.confinement.mode != "off", true), router::make_answer);
  if (started) return std::make_shared<const router::ReaderProcess>(std::move(*started));
  log->warn("{}: there are no recordings over HTTP, no profiles as files, and no --app-metrics",
            started.error().message());
  return nullptr;
}

CommandOwner owner_of(const config::EgressSettings& store) {
  return {"the store " + store.name, "egress.user"};
}

CommandOwner owner_of(const config::RuleSettings& rule) {
  return {"the rule " + rule.name, "run.user"};
}

namespace {

/// What one store or rule runs: with the same rights, one or two programs.
struct CommandGroup {
  const config::CommandSettings& about;
  CommandOwner owner;
  std::string rule;       ///< Whose it is; empty: a store's.
  std::size_t first = 0;  ///< The number of the first command.
  std::vector<std::vector<std::string>> commands;
};

/// Those of the stores in their order, and then those of the rules that have one.
std::vector<CommandGroup> command_groups(const config::ServeSettings& settings) {
  std::vector<CommandGroup> groups;
  for (const config::EgressSettings& store : settings.egress) {
    groups.push_back({store.run, owner_of(store), {}, 0, {store.run.command}});
    if (!store.check.empty()) groups.back().commands.push_back(store.check);
  }
  for (const config::RuleSettings& rule : settings.rules) {
    if (!rule.run.command.empty())
      groups.push_back({rule.run, owner_of(rule), rule.name, 0, {rule.run.command}});
  }
  std::size_t number = 0;
  for (CommandGroup& group : groups) group.first = std::exchange(number, number + group.commands.size());
  return groups;
}

}  // namespace

std::vector<router::StoreSettings> stores_of(const config::ServeSettings& settings) {
  const auto groups = command_groups(settings);
  std::vector<router::StoreSettings> stores;
  for (const config::EgressSettings& each : settings.egress) {
    const CommandGroup& group = groups[stores.size()];
    router::StoreSettings& store = stores.emplace_back();
    store.store = {each.name, each.kinds};
    store.command = group.first;
    if (!each.check.empty()) store.check = group.first + 1;
    store.timeout = each.run.timeout;
    store.streams = each.stream;
    store.rate = each.rate;
  }
  return stores;
}

std::map<std::string, std::size_t> rule_commands_of(const config::ServeSettings& settings) {
  std::map<std::string, std::size_t> numbers;
  for (const CommandGroup& group : command_groups(settings)) {
    if (!group.rule.empty()) numbers.emplace(group.rule, group.first);
  }
  return numbers;
}

Result<std::vector<router::OperatorCommand>> commands_of(const config::ServeSettings& settings) {
  std::vector<router::OperatorCommand> commands;
  for (const CommandGroup& group : command_groups(settings)) {
    ASSIGN_OR_RETURN(const auto rights, rights_of(group.about, group.owner, settings));
    const std::vector<std::string> environment = environment_for(group.about);
    for (std::vector<std::string> found : group.commands) {
      ASSIGN_OR_RETURN(found.front(), find_program(found.front(), environment));
      const auto given = with_program(rights, found.front());
      commands.push_back(
          {std::move(found), environment, [given] { return confinement::confine_command(given); }});
    }
  }
  return commands;
}

Result<std::shared_ptr<const router::CommandProcess>> start_commands(const config::ServeSettings& settings) {
  ASSIGN_OR_RETURN(auto commands, commands_of(settings));
  if (commands.empty()) return nullptr;
  ASSIGN_OR_RETURN(auto process, router::CommandProcess::start(std::move(commands), [&settings] {
                     forget(settings.tls);
                     prefer_as_oom_victim();
                     if (settings.confinement.mode != "off") confinement::confine_command_starter();
                   }));
  return std::make_shared<const router::CommandProcess>(std::move(process));
}

Result<router::ReaderProcess> start_readers(const config::RemoteSettings& remote, router::ReaderWork work) {
  const char* const mode = std::getenv("FARPORT_CONFINE");
  // Read the time zone now, since a confined reader can't.
  ::tzset();
  return router::ReaderProcess::start(
      given_up(remote.tls, mode == nullptr || std::string_view(mode) != "off", false),
      [work = std::move(work)](const auto& wanted, auto& from, auto& to) {
        const bool names = wanted.kind == router::ReadingTask::Kind::methods;
        return names ? router::tell_methods(from, to) : work(wanted, from, to);
      });
}

}  // namespace farport::cli
