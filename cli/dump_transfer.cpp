#include "cli/dump_transfer.hpp"

#include <ctime>
#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include "base/file_name.hpp"
#include "cli/session_options.hpp"
#include "cli/text.hpp"
#include "router/mirror/dump_receiver.hpp"
#include "router/mirror/reach_route.hpp"
#include "router/mirror/tcp_route.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using transport::Task;

/// dotnet-dump's way to name its files, with the runtime's name before it.
std::string default_path(const router::Runtime& runtime) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char time[sizeof "20260101_120000"];
  std::strftime(time, sizeof time, "%Y%m%d_%H%M%S", &parts);
  return fmt::format("{}_{}.dmp", file_name_for(runtime.name), time);
}

/// An application that is restarted meanwhile, as liveness probes do it, leaves no dump.
void say_that_it_stops(const router::Runtime& runtime) {
  print_message(
      fmt::format("{} (pid {}) stands still while it writes the dump: liveness probes may restart it",
                  runtime.name, runtime.pid));
}

/// What is done in each session: asks which agent this is, so that the dump can be resumed there.
Task<void> learn_instance(router::AgentSession& session) {
  const auto answer = co_await session.ask("GET", "/v1/runtimes?watch=true");
  if (answer) session.learn_instance((*answer)->head());
}

}  // namespace

Task<Result<std::string>> DumpTransfer::receive(router::Runtime runtime) {
  const router::DumpRequest request{*ipc::dump_type_named(settings_.type), 0};
  // An agent that has progress to tell of has not refused.
  router::OnDumpProgress on_progress = [this, &runtime,
                                        said = false](const router::DumpProgress& progress) mutable {
    const bool writes = progress.phase == router::DumpProgress::Phase::writing;
    if (writes && !std::exchange(said, true)) {
      bar_.end();
      say_that_it_stops(runtime);
    }
    bar_.show(progress);
  };
  if (settings_.stay) {
    auto left = co_await router::leave_dump(*sessions_, runtime.id, request, std::move(on_progress));
    co_return left;
  }
  std::error_code error;
  const std::string wanted = settings_.output.empty() ? default_path(runtime) : settings_.output;
  const std::string path = std::filesystem::absolute(wanted, error).lexically_normal().string();
  // Before the application is stopped for it.
  if (!settings_.force && std::filesystem::is_regular_file(path, error)) {
    co_return fail("write the dump to", path, "there is a file already", "name another one, or give --force");
  }
  const auto size =
      co_await router::receive_dump(*sessions_, runtime.id, request, path, std::move(on_progress));
  if (!size) co_return tl::unexpected(size.error());
  co_return path;
}

std::unique_ptr<router::AgentRoute> DumpTransfer::route_to(const std::vector<transport::Address>& addresses) {
  if (agent_.reach != nullptr) return std::make_unique<router::ReachRoute>(loop_, log_, agent_.reach);
  credentials_.emplace(loop_, log_, agent_.credentials);
  return std::make_unique<router::TcpRoute>(loop_, addresses, agent_.address.verified_name(), *credentials_);
}

Task<Result<std::string>> DumpTransfer::transfer() {
  const auto target = co_await find_runtime(loop_, agent_, settings_.runtime, missing_);
  if (!target) co_return tl::unexpected(target.error());
  sessions_.emplace(loop_, log_, route_to(target->addresses), session_options(settings_.session));
  router::SessionManager::OnEnd on_end = [this](const Error& why) { bar_.interrupted(why.message()); };
  dialling_ = sessions_->run(learn_instance, std::move(on_end));
  dialling_.start();
  auto path = co_await receive(target->runtime);
  co_return path;
}

Task<std::optional<Result<std::string>>> DumpTransfer::run(transport::Event& interrupted) {
  auto result = co_await first_of(transfer(), interrupted.wait());
  dialling_.reset();
  if (sessions_) co_await sessions_->leave();
  bar_.end();
  co_return result;
}

}  // namespace farport::cli
