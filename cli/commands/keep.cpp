#include "cli/commands/keep.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "base/escape.hpp"
#include "base/text.hpp"
#include "cli/options/commands.hpp"
#include "cli/output/output.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/runtime_session.hpp"
#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"
#include "router/wire/artifact.hpp"
#include "router/wire/dump.hpp"
#include "transport/child_process.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::cli {
namespace {

using transport::Task;

constexpr transport::Milliseconds kAskAgain{500};

class KeptTaking {
 public:
  /// All arguments must outlive it.
  KeptTaking(transport::Loop& loop, const router::MirroredAgent& agent,
             const config::SessionSettings& session)
      : loop_(loop),
        session_(loop, agent, session, [this](const Error& why) { line_.interrupted(why.message()); }) {}
  KeptTaking(const KeptTaking&) = delete;
  KeptTaking& operator=(const KeptTaking&) = delete;

  /// Runs until it is kept; empty if it was stopped before.
  Task<std::optional<Result<router::Artifact>>> run(std::string runtime, Wanted wanted,
                                                    transport::StopSource& stop);
  /// The artifact, once the agent has begun; it goes on then without anybody.
  [[nodiscard]] const std::optional<router::Artifact>& begun() const { return begun_; }
  /// Why the runtime may not have been found; see RuntimeSession.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return session_.explanation(); }

 private:
  Task<Result<router::Artifact>> take(std::string runtime, Wanted wanted);
  Task<Result<router::Artifact>> ask(std::string method, std::string path);

  transport::Loop& loop_;
  StatusLine line_;
  RuntimeSession session_;
  std::optional<router::Artifact> begun_;
};

std::string path_for(const router::Runtime& runtime, const Wanted& wanted) {
  std::string path = fmt::format("/v1/runtimes/{}/{}?keep=true", runtime.id, wanted.action);
  for (const auto& [name, value] : wanted.parameters) {
    if (!value.empty()) path += fmt::format("&{}={}", name, percent_encoded(value));
  }
  return path;
}

/// What goes straight to a store takes nothing here.
std::string so_far(const router::Artifact& artifact) {
  return artifact.only_in.empty() ? fmt::format(": {} so far", router::mebibytes(artifact.bytes)) : "";
}

void say_that_it_stops(const router::Artifact& artifact) {
  print_message(fmt::format(
      "there is no room for it at the agent: it goes straight to the store {}, and {} (pid {}) is stopped "
      "for about {} s",
      escape(artifact.only_in), escape(artifact.runtime.name), artifact.runtime.pid, artifact.stops_for));
}

Task<Result<router::Artifact>> KeptTaking::ask(std::string method, std::string path) {
  CO_ASSIGN_OR_RETURN(const std::string body, co_await session_.ask(std::move(method), std::move(path)));
  co_return router::artifact_from_json(body);
}

Task<Result<router::Artifact>> KeptTaking::take(std::string runtime, Wanted wanted) {
  CO_ASSIGN_OR_RETURN(const router::Runtime target, co_await session_.open(std::move(runtime)));
  const bool changes = wanted.action == "dump" || wanted.action == "modules" || wanted.action == "profile";
  CO_ASSIGN_OR_RETURN(router::Artifact artifact,
                      co_await ask(changes ? "POST" : "GET", path_for(target, wanted)));
  begun_ = artifact;
  const std::string path = "/v1/artifacts/" + artifact.id;
  for (bool said = false; artifact.state == router::Artifact::State::under_way;) {
    if (!artifact.only_in.empty() && !std::exchange(said, true)) say_that_it_stops(artifact);
    line_.draw(fmt::format("the agent takes the {} of {}{}, Ctrl-C leaves it to the agent", artifact.kind,
                           target.name, so_far(artifact)));
    co_await transport::sleep(loop_, kAskAgain);
    CO_ASSIGN_OR_RETURN(artifact, co_await ask("GET", path));
  }
  co_return artifact;
}

Task<std::optional<Result<router::Artifact>>> KeptTaking::run(std::string runtime, Wanted wanted,
                                                              transport::StopSource& stop) {
  auto taken = co_await first_of(take(std::move(runtime), std::move(wanted)), stop.wait());
  co_await first_of(session_.leave(), stop.again());
  line_.end();
  co_return taken;
}

}  // namespace

std::string in_seconds(std::chrono::milliseconds time) {
  return fmt::format("{:g}", std::chrono::duration<double>(time).count());
}

int keep(const config::RemoteSettings& remote, const std::string& runtime,
         const config::SessionSettings& session, const Wanted& wanted) {
  ASSIGN_OR_REPORT(const auto agents, agents_of({remote}), kUsage);
  transport::Loop loop;
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  KeptTaking taking(loop, agents.front(), session);
  const auto taken = loop.run(taking.run(runtime, wanted, stop));
  if ((!taken || !*taken) && taking.begun()) {
    std::ignore = print_path(taking.begun()->id);
    print_message("the agent goes on, and keeps it under this id");
  }
  if (!taken) return report(interrupted("wait for", "the agent"));
  if (!*taken) {
    const int code = report(taken->error());
    print_messages(taking.explanation());
    return code;
  }
  const router::Artifact& artifact = **taken;
  std::ignore = print_path(artifact.id);
  if (artifact.state == router::Artifact::State::cut)
    return report(Error{"keep all of", "the " + artifact.kind, artifact.why});
  if (!artifact.gaps.empty()) print_message(artifact.gaps);
  if (!artifact.only_in.empty()) {
    print_message(fmt::format("it is in the store {}, and not at the agent: {}", escape(artifact.only_in),
                              router::mebibytes(artifact.size)));
    return kSuccess;
  }
  print_message(fmt::format("kept by the agent: {}, {} compressed", router::mebibytes(artifact.size),
                            router::mebibytes(artifact.bytes)));
  return kSuccess;
}

}  // namespace farport::cli
