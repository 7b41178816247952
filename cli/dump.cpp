#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "base/escape.hpp"
#include "base/file_name.hpp"
#include "cli/commands.hpp"
#include "cli/explain.hpp"
#include "cli/progress_bar.hpp"
#include "cli/remotes.hpp"
#include "cli/session_options.hpp"
#include "cli/text.hpp"
#include "router/mirror/dump_receiver.hpp"
#include "router/wire/runtime_json.hpp"
#include "router/wire/runtime_names.hpp"
#include "transport/race.hpp"
#include "transport/signals.hpp"
#include "transport/task_set.hpp"

namespace farport::cli {
namespace {

using transport::Task;

constexpr int kInterrupted = 130;

/// The runtime that is meant, and the agent that has it.
struct FoundRuntime {
  std::vector<transport::Address> addresses;
  router::Runtime runtime;
};

Result<FoundRuntime> choose(std::vector<FoundRuntime> targets, const std::string& wanted) {
  std::vector<const router::Runtime*> among;
  for (const FoundRuntime& target : targets) among.push_back(&target.runtime);
  const auto chosen = router::choose_runtime(wanted, among);
  if (!chosen) return tl::unexpected(chosen.error());
  return std::move(targets[*chosen]);
}

/// `missing`: what the agents list, should it not be there.
Task<Result<FoundRuntime>> find_runtime(transport::Loop& loop, router::MirroredAgent agent,
                                        std::string wanted, Missing& missing) {
  const auto answers =
      co_await router::ask_agent(loop, agent.address, agent.credentials->context(), "/v1/runtimes");
  if (!answers) co_return tl::unexpected(answers.error());
  std::vector<FoundRuntime> targets;
  for (const router::AgentAnswer& answer : *answers) {
    const auto runtimes = router::runtimes_from_json(answer.body);
    if (!runtimes) co_return tl::unexpected(runtimes.error());
    for (const router::Runtime& runtime : *runtimes) {
      // Two agents may share a runtime.
      const auto same = [&](const FoundRuntime& target) { return target.runtime.id == runtime.id; };
      if (std::any_of(targets.begin(), targets.end(), same)) continue;
      targets.push_back({answer.addresses, runtime});
    }
  }
  if (!targets.empty()) missing = Missing::something;
  co_return choose(std::move(targets), wanted);
}

/// dotnet-dump's way to name its files, with the runtime's name before it.
std::string default_path(const router::Runtime& runtime) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char time[sizeof "20260101_120000"];
  std::strftime(time, sizeof time, "%Y%m%d_%H%M%S", &parts);
  return fmt::format("{}_{}.dmp", file_name_for(runtime.name), time);
}

/// Whoever restarts it meanwhile, as liveness probes do, gets no dump.
void say_that_it_stops(const router::Runtime& runtime) {
  print_message(
      fmt::format("{} (pid {}) stands still while it writes the dump: liveness probes may restart it",
                  runtime.name, runtime.pid));
}

Task<Result<std::string>> dump_into(router::SessionManager& sessions, router::Runtime runtime,
                                    config::DumpCommandSettings settings, ProgressBar& bar) {
  const router::DumpRequest request{*ipc::dump_type_named(settings.type), 0};
  // An agent that has progress to tell of has not refused.
  router::OnDumpProgress on_progress = [&bar, &runtime,
                                        said = false](const router::DumpProgress& progress) mutable {
    const bool writes = progress.phase == router::DumpProgress::Phase::writing;
    if (writes && !std::exchange(said, true)) {
      bar.end();
      say_that_it_stops(runtime);
    }
    bar.show(progress);
  };
  if (settings.stay) {
    auto left = co_await router::leave_dump(sessions, runtime.id, request, std::move(on_progress));
    co_return left;
  }
  std::error_code error;
  const std::string wanted = settings.output.empty() ? default_path(runtime) : settings.output;
  const std::string path = std::filesystem::absolute(wanted, error).lexically_normal().string();
  // Before the application is stopped for it.
  if (!settings.force && std::filesystem::is_regular_file(path, error)) {
    co_return fail("write the dump to", path, "there is a file already", "name another one, or give --force");
  }
  const auto size =
      co_await router::receive_dump(sessions, runtime.id, request, path, std::move(on_progress));
  if (!size) co_return tl::unexpected(size.error());
  co_return path;
}

/// What is done in each session: asks which agent this is, so that the dump can be resumed there.
Task<void> learn_instance(router::AgentSession& session) {
  const auto answer = co_await session.ask("GET", "/v1/runtimes?watch=true");
  if (answer) session.learn_instance((*answer)->head());
}

/// A dump under way: what carries it outlives the work, so that the agent can be told when it is cancelled.
struct Taking {
  transport::Loop& loop;
  Log log;
  const router::MirroredAgent& agent;
  const config::DumpCommandSettings& settings;
  ProgressBar bar{};
  Missing missing = Missing::everything;
  std::optional<router::CredentialWatch> credentials{};
  std::optional<router::SessionManager> sessions{};
  Task<void> dialling{};
};

Task<Result<std::string>> take(Taking& taking) {
  const router::AgentAddress& agent = taking.agent.address;
  const auto target =
      co_await find_runtime(taking.loop, taking.agent, taking.settings.runtime, taking.missing);
  if (!target) co_return tl::unexpected(target.error());
  const router::SessionManager::Target at{target->addresses, agent.verified_name()};
  taking.credentials.emplace(taking.loop, taking.log, taking.agent.credentials);
  taking.sessions.emplace(taking.loop, taking.log, at, *taking.credentials,
                          session_options(taking.settings.session));
  router::SessionManager::OnEnd on_end = [&taking](const Error& why) {
    taking.bar.interrupted(why.message());
  };
  taking.dialling = taking.sessions->run(learn_instance, std::move(on_end));
  taking.dialling.start();
  auto path = co_await dump_into(*taking.sessions, target->runtime, taking.settings, taking.bar);
  co_return path;
}

/// Runs until the dump is there or `interrupted` is set: nothing is the result then.
Task<std::optional<Result<std::string>>> take_or_stop(Taking& taking, transport::Event& interrupted) {
  auto result = co_await first_of(take(taking), interrupted.wait());
  taking.dialling.reset();
  if (taking.sessions) co_await taking.sessions->leave();
  co_return result;
}

}  // namespace

int dump(const config::DumpCommandSettings& settings) {
  const auto agents = agents_of({settings.remote});
  if (!agents) return report(agents.error(), kUsage);
  transport::Loop loop;
  transport::Event interrupted(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&interrupted](int) { interrupted.set(); });
  Taking taking{loop, make_silent_log(), agents->front(), settings};
  const auto path = loop.run(take_or_stop(taking, interrupted));
  taking.bar.end();
  if (!path) {
    std::fputs("farport: the dump is cancelled, nothing of it is left\n", stderr);
    return kInterrupted;
  }
  if (!*path) {
    report(path->error());
    if (path->error().cause == ESRCH) loop.run(print_explanation(loop, {agents->front()}, taking.missing));
    return kFailure;
  }
  // A path of the agent's is its word; one of ours is for scripts as it is.
  const bool shown_to_a_person = settings.stay || ::isatty(STDOUT_FILENO) != 0;
  std::printf("%s\n", shown_to_a_person ? escape(**path).c_str() : (*path)->c_str());
  return kSuccess;
}

}  // namespace farport::cli
