// farport recent: gets what an agent's recorder has kept of a runtime.
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output.hpp"
#include "cli/output/recording_sink.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/runtime_session.hpp"
#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/wire/http_status.hpp"
#include "transport/child_process.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

using transport::IoStatus;
using transport::Task;

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr transport::Milliseconds kUsualLast{120'000};
constexpr std::string_view kExtension = ".nettrace";

/// A recording that was received.
struct Received {
  std::string path;
  std::string runtime;        ///< Its name.
  std::uint32_t seconds = 0;  ///< How far it goes back.
};

/// Receives a recording of the past from an agent, and writes it to a file.
class RecentTransfer {
 public:
  /// All arguments must outlive the transfer.
  RecentTransfer(transport::Loop& loop, const router::MirroredAgent& agent,
                 const config::RecordingSettings& settings)
      : loop_(loop),
        settings_(settings),
        line_(loop),
        session_(loop, agent, settings.session,
                 [this](const Error& why) { line_.interrupted(why.message()); }) {}
  RecentTransfer(const RecentTransfer&) = delete;
  RecentTransfer& operator=(const RecentTransfer&) = delete;

  /// Runs until the file is whole; empty if it was stopped before. Fails if the runtime isn't found (ESRCH),
  /// the agent refuses, or the file can't be written.
  Task<std::optional<Result<Received>>> run(transport::StopSource& stop);
  /// Why the runtime may not have been found; see RuntimeSession.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return session_.explanation(); }

 private:
  Task<Result<Received>> receive();
  Task<Result<void>> write_all(transport::Stream& from, RecordingFile& to);

  transport::Loop& loop_;
  const config::RecordingSettings& settings_;
  ProgressLine line_;
  RuntimeSession session_;
};

Task<Result<void>> RecentTransfer::write_all(transport::Stream& from, RecordingFile& to) {
  for (;;) {
    const auto piece = std::make_shared<Piece>();
    piece->bytes.resize(kPieceBytes);
    const transport::Io got = co_await from.read(piece->bytes);
    if (got.status == IoStatus::failed) co_return tl::unexpected(from.error());
    if (got.status == IoStatus::end) co_return Result<void>();
    piece->size = got.bytes;
    CO_RETURN_IF_ERROR(co_await to.append(loop_, piece));
  }
}

Task<Result<Received>> RecentTransfer::receive() {
  CO_ASSIGN_OR_RETURN(const auto runtime, co_await session_.open(settings_.runtime));
  const auto last = std::chrono::ceil<std::chrono::seconds>(settings_.duration.value_or(kUsualLast));
  router::ResumableRequest request(
      session_.sessions(), fmt::format("/v1/runtimes/{}/recent?seconds={}", runtime.id, last.count()));
  const IoStatus head = co_await request.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(request.stream().error());
  if (request.head().status != router::http_status::kOk) {
    const auto refused = co_await router::read_body(request.head(), request.stream());
    co_return tl::unexpected(refused.error());
  }
  Received received{output_path(settings_.output, runtime.name, kExtension), runtime.name, 0};
  const auto seconds = number_in<std::uint32_t>(request.head().field("farport-recent-seconds"));
  received.seconds = seconds.value_or(0);
  CO_ASSIGN_OR_RETURN(const auto file, RecordingFile::create(received.path, settings_.force));
  CO_RETURN_IF_ERROR(co_await write_all(request.stream(), *file));
  CO_RETURN_IF_ERROR(file->keep());
  co_return received;
}

Task<std::optional<Result<Received>>> RecentTransfer::run(transport::StopSource& stop) {
  auto result = co_await first_of(receive(), stop.wait());
  co_await first_of(session_.leave(), stop.again());
  line_.end();
  co_return result;
}

int recent(const config::RecordingSettings& settings) {
  if (!settings.output.empty() && !settings.output.ends_with(kExtension))
    return report(Error{"write the recording to", settings.output,
                        "the file name's extension gives no known format", "use .nettrace"},
                  kUsage);
  ASSIGN_OR_REPORT(const auto agents, agents_of({settings.remote}), kUsage);
  transport::Loop loop;
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  RecentTransfer transfer(loop, agents.front(), settings);
  const auto received = loop.run(transfer.run(stop));
  if (!received) return report(interrupted("get", "the recording"));
  if (!*received) {
    const int code = report(received->error());
    print_messages(transfer.explanation());
    return code;
  }
  print_message(fmt::format("the last {} s of {}", (*received)->seconds, (*received)->runtime));
  std::ignore = print_path((*received)->path);
  return kSuccess;
}

constexpr const char* kRecentAbout =
    "Gets what an agent has recorded of a runtime before now, as a .nettrace file: garbage collections,\n"
    "exceptions, contention, the thread pool, counters, and logs from warnings on. The agent must have been\n"
    "started with --recorder. The runtime is not asked, so this works for one that hangs. Prints the path.";
constexpr const char* kRecentExamples = R"(Examples:
  farport recent orders.example:9000
  farport recent prod-orders/orders --last 30s -o before.nettrace)";

RunCommand add_recent_options(CLI::App& options, config::Flags& flags) {
  add_target(options, flags);
  add_output(options, flags, "Output file [NAME_TIME.nettrace]");
  options.add_option("--last", flags.duration, "How far back, if so much is kept [2m]")->type_name("TIME");
  return [&flags] { return run_with(config::resolve_recording(flags, kRecent.name), recent); };
}

}  // namespace

const Command kRecent{"recent", "Get what happened in a remote runtime before now, from the agent's recorder",
                      kRecentAbout, kRecentExamples, add_recent_options};

}  // namespace farport::cli
