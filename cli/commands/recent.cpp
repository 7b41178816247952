// farport recent: gets what an agent's recorder has kept of a runtime.
#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "base/text.hpp"
#include "cli/options/commands.hpp"
#include "cli/options/options.hpp"
#include "cli/output/output.hpp"
#include "cli/output/recording_sink.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/setup/patience.hpp"
#include "cli/setup/remotes.hpp"
#include "cli/setup/runtime_session.hpp"
#include "cli/terminal/live_region.hpp"
#include "cli/terminal/table.hpp"
#include "config/resolve.hpp"
#include "events/sampled_profile.hpp"
#include "nettrace/reader.hpp"
#include "profile/form.hpp"
#include "profile/output.hpp"
#include "router/collect/recording.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/readers/answers.hpp"
#include "router/readers/reading.hpp"
#include "router/recordings/recordings.hpp"
#include "router/wire/artifact.hpp"
#include "router/wire/http_status.hpp"
#include "timeline/timeline.hpp"
#include "timeline/timeline_reader.hpp"
#include "transport/child_process.hpp"
#include "transport/event.hpp"
#include "transport/race.hpp"
#include "transport/task_set.hpp"

namespace farport::cli {
namespace {

using transport::IoStatus;
using transport::Task;

/// How long the runtime may take to begin naming its methods, and to do it. A runtime that has 30,000 methods
/// takes 0.4 s.
constexpr transport::Milliseconds kNamesBegin{5'000};
constexpr transport::Milliseconds kNamesLimit{60'000};
constexpr transport::Milliseconds kUsualLast{120'000};
/// The most that a page says of a name, in bytes.
constexpr std::size_t kMaxShown = 256;

/// A recording that was received.
struct Received {
  std::string path;
  std::string runtime;        ///< Its name, and how it ended.
  std::uint32_t seconds = 0;  ///< How far it goes back.
  std::string nameless;       ///< Why names of methods are missing; empty if they aren't.
};

/// A form of the file.
struct Form {
  std::string_view ending;
  void (*write_timeline)(const timeline::Timeline&, profile::Output&) = nullptr;
  std::optional<profile::Form> profile{};  ///< Of the samples. Without both, the recording itself.
};
constexpr std::array kForms{Form{".nettrace"}, Form{".html", timeline::write_html},
                            // Before its own ending.
                            Form{".speedscope.json", nullptr, profile::Form::speedscope},
                            Form{".json", timeline::write_json}};

/// The form that a file's name asks for; null if there is no such form.
const Form* form_of(std::string_view path) {
  if (path.empty()) return kForms.data();
  const auto* const form =
      std::ranges::find_if(kForms, [path](const Form& each) { return path.ends_with(each.ending); });
  return form == kForms.end() ? nullptr : form;
}

Result<void> read_joined(router::ReaderInput& from, router::ReaderOutput& to, nettrace::Handler& events) {
  nettrace::Reader reader(events);
  return router::join_recordings(from, to, [&reader](const auto& bytes) { return reader.feed(bytes); });
}

/// The samples of the processor in a recording.
Result<profile::Profile> read_profile(const std::string& process, router::ReaderInput& from,
                                      router::ReaderOutput& to) {
  events::SampledProfile samples(profile::Keep::each);
  RETURN_IF_ERROR(read_joined(from, to, samples));
  profile::Profile taken = samples.take();
  if (taken.samples.empty())
    return fail("make a profile of", process, "the agent has kept no samples of the processor for you",
                "your role may lack the permission profile, other runtimes may have had their turn, or the "
                "agent's log says why");
  taken.process = process;
  taken.clock = profile::Clock::cpu;
  taken.interval = std::chrono::nanoseconds(std::chrono::seconds(1)) / router::kRecentFrequency;
  return taken;
}

/// What the page says of the process.
timeline::Process process_of(const router::Artifact& about) {
  const router::Runtime& runtime = about.runtime;
  const std::string container = runtime.container.text();
  const char* const between = container.empty() || runtime.host.empty() ? "" : " on ";
  return {std::string(shortened(runtime.name, kMaxShown)),
          std::string(shortened(container + between + runtime.host, kMaxShown)),
          std::string(shortened(about.why, kMaxShown))};
}

/// The same for a reader. What comes from an agent has no zero bytes.
std::string text_of(const timeline::Process& process) {
  std::string text;
  for (const std::string& each : {process.name, process.place, process.end}) (text += each) += '\0';
  return text;
}

timeline::Process process_in(std::string_view text) {
  timeline::Process process;
  for (std::string* each : {&process.name, &process.place, &process.end}) *each = take_until(text, '\0');
  return process;
}

/// What the reader does.
Result<void> make_file(const Form& form, timeline::Process process, router::ReaderInput& from,
                       router::ReaderOutput& to) {
  const auto write = [&to](std::string_view piece) -> Result<void> {
    to.write_lines(piece);
    return {};
  };
  if (form.profile) {
    ASSIGN_OR_RETURN(const auto taken, read_profile(process.name, from, to));
    return profile::write_profile(taken, *form.profile, write);
  }
  if (form.write_timeline == nullptr) return router::join_recordings(from, to);
  timeline::TimelineReader events;
  RETURN_IF_ERROR(read_joined(from, to, events));
  profile::Output out(write);
  form.write_timeline(events.take(std::move(process)), out);
  return out.finish();
}

/// Receives a recording of the past from an agent, has the runtime name its methods, and writes both to a
/// file.
class RecentTransfer {
 public:
  /// All arguments must outlive the transfer.
  RecentTransfer(transport::Loop& loop, const router::MirroredAgent& agent,
                 const config::RecentSettings& settings, const router::ReaderProcess& readers)
      : loop_(loop),
        settings_(settings),
        readers_(readers),
        given_up_(loop),
        line_(loop),
        session_(loop, agent, settings.session,
                 [this](const Error& why) { line_.interrupted(why.message()); }),
        patience_(loop, session_, settings.patience, Patience::Work::events,
                  [this](const std::string& line) { line_.say(line); }) {}
  RecentTransfer(const RecentTransfer&) = delete;
  RecentTransfer& operator=(const RecentTransfer&) = delete;

  /// Runs until the file is whole; empty if it was stopped before. Once all but the names of methods has
  /// come, the first stop only ends the wait for these. Fails if the runtime isn't found (ESRCH), the agent
  /// refuses, or the file can't be written.
  Task<std::optional<Result<Received>>> run(transport::StopSource& stop);
  /// Why the runtime may not have been found; see RuntimeSession.
  [[nodiscard]] const std::vector<std::string>& explanation() const { return session_.explanation(); }

 private:
  struct Wanted {
    router::Artifact about;  ///< Without an end, if it runs.
    std::string path;        ///< Of the request for it.
  };
  Task<Result<Wanted>> find();
  Task<Result<Received>> receive(transport::StopSource& stop);
  Task<void> give_up(transport::StopSource& stop);
  Task<void> feed(router::Reading& reading, router::ResumableRequest& from, const router::Runtime& runtime,
                  transport::StopSource& stop);
  Task<Result<void>> feed_names(router::Reading& reading, const router::Runtime& runtime);
  Task<Result<void>> take_all(router::Reading& reading, RecordingFile& to);

  transport::Loop& loop_;
  const config::RecentSettings& settings_;
  const router::ReaderProcess& readers_;
  transport::Event given_up_;
  bool all_has_come_ = false;  ///< Of the recording itself.
  std::string nameless_;       ///< Why names of methods are missing.
  ProgressLine line_;
  RuntimeSession session_;
  Patience patience_;
};

Task<Result<void>> RecentTransfer::feed_names(router::Reading& reading, const router::Runtime& runtime) {
  const auto stopped = co_await patience_.check_stopped(runtime);
  if (stopped) co_return tl::unexpected(*stopped);
  router::Recording names(session_.sessions(), runtime.id);
  const auto limit = settings_.patience.given ? settings_.patience.limit : kNamesBegin;
  const auto begun = co_await with_deadline(loop_, names.begin(router::wanted_methods()), limit);
  if (!begun)
    co_return fail(
        "ask", runtime.name,
        fmt::format("it has not answered for {:g} s", std::chrono::duration<double>(limit).count()));
  if (!*begun) co_return *begun;
  // The names come when the session ends, and may not fit the runtime's buffers before it answers.
  transport::TaskSet stopping(loop_);
  stopping.spawn(names.stop_or_abort());
  const auto passed = co_await with_deadline(loop_, reading.pass_on(names.stream()), kNamesLimit);
  if (!passed)
    co_return fail("ask", runtime.name,
                   fmt::format("it took longer than {} s", kNamesLimit / std::chrono::seconds(1)));
  if (*passed == router::Reading::Passed::failed) co_return tl::unexpected(names.stream().error());
  co_return Result<void>();
}

/// Passes on what came before, and then the names, unless the agent has them joined to it.
Task<void> RecentTransfer::feed(router::Reading& reading, router::ResumableRequest& from,
                                const router::Runtime& runtime, transport::StopSource& stop) {
  const auto passed = co_await reading.pass_on(from.stream(), router::Reading::As::part);
  if (passed == router::Reading::Passed::failed) reading.abort(from.stream().error());
  if (passed != router::Reading::Passed::all) co_return;
  // The agent has joined the samples, if it has any. What fails here fails again where the answer is read.
  for (std::size_t part = 1; part + 1 < router::kJoinedParts; ++part)
    std::ignore = co_await reading.write_part({});
  const std::string_view names = from.head().field("farport-recent-names");
  const bool are_joined = names == "yes";
  if (!are_joined && settings_.crash.empty()) {
    all_has_come_ = true;
    const auto named = co_await first_of(feed_names(reading, runtime), stop.wait());
    if (!named) nameless_ = "interrupted";
    if (named && !*named) nameless_ = named->error().message();
  } else if (!are_joined) {
    nameless_ = names == "busy" ? "the agent can't add them now, and its log says why; try again in a while"
                                : "the agent has not kept them";
  }
  co_await reading.finish();
}

Task<Result<void>> RecentTransfer::take_all(router::Reading& reading, RecordingFile& to) {
  for (;;) {
    CO_ASSIGN_OR_RETURN(const auto frame, co_await reading.next());
    if (frame.kind == router::ReaderFrame::end) co_return Result<void>();
    if (frame.kind == router::ReaderFrame::notice) nameless_ = frame.text;
    if (frame.kind != router::ReaderFrame::lines) continue;
    CO_RETURN_IF_ERROR(co_await to.append(loop_, piece_of(frame.text)));
  }
}

Task<Result<RecentTransfer::Wanted>> RecentTransfer::find() {
  if (!settings_.crash.empty()) {
    CO_ASSIGN_OR_RETURN(auto ended, co_await session_.open_artifact(settings_.crash));
    std::string path = "/v1/artifacts/" + ended.id;
    co_return Wanted{std::move(ended), std::move(path)};
  }
  router::Artifact about;
  CO_ASSIGN_OR_RETURN(about.runtime, co_await session_.open(settings_.runtime));
  const auto last = std::chrono::ceil<std::chrono::seconds>(settings_.duration.value_or(kUsualLast));
  std::string path = fmt::format("/v1/runtimes/{}/recent?seconds={}", about.runtime.id, last.count());
  co_return Wanted{std::move(about), std::move(path)};
}

Task<Result<Received>> RecentTransfer::receive(transport::StopSource& stop) {
  CO_ASSIGN_OR_RETURN(const auto wanted, co_await find());
  const router::Runtime& runtime = wanted.about.runtime;
  router::ResumableRequest request(session_.sessions(), wanted.path);
  const IoStatus head = co_await request.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(request.stream().error());
  if (request.head().status != router::http_status::kOk) {
    const auto refused = co_await router::read_body(request.head(), request.stream());
    co_return tl::unexpected(refused.error());
  }
  const std::string& reason = wanted.about.why;
  Received received{output_path(settings_.output, runtime.name, kForms.front().ending),
                    runtime.name + (reason.empty() ? "" : ", " + reason),
                    0,
                    {}};
  const auto seconds = number_in<std::uint32_t>(request.head().field("farport-recent-seconds"));
  received.seconds = seconds.value_or(0);
  CO_ASSIGN_OR_RETURN(const auto file, RecordingFile::create(received.path, settings_.force));
  router::Reading reading(
      loop_, router::local_request(router::ReadingTask::Kind::local, text_of(process_of(wanted.about))),
      router::Reading::For::user);
  CO_RETURN_IF_ERROR(reading.begin(readers_));
  transport::TaskSet feeding(loop_);
  feeding.spawn(feed(reading, request, runtime, stop));
  CO_RETURN_IF_ERROR(co_await take_all(reading, *file));
  CO_RETURN_IF_ERROR(file->keep());
  received.nameless = nameless_;
  co_return received;
}

Task<void> RecentTransfer::give_up(transport::StopSource& stop) {
  co_await stop.wait();
  if (all_has_come_) co_await stop.again();
  given_up_.set();
}

Task<std::optional<Result<Received>>> RecentTransfer::run(transport::StopSource& stop) {
  transport::TaskSet stopping(loop_);
  stopping.spawn(give_up(stop));
  auto result = co_await first_of(receive(stop), given_up_.wait());
  co_await first_of(session_.leave(), stop.again());
  line_.end();
  co_return result;
}

int recent(const config::RecentSettings& settings) {
  const Form* const form = form_of(settings.output);
  if (form == nullptr)
    return report(
        Error{"write the recording to", settings.output, "the file name's extension gives no known format",
              "use .html, .speedscope.json, .json or .nettrace"},
        kUsage);
  ASSIGN_OR_REPORT(const auto agents, agents_of({settings.remote}), kUsage);
  const auto readers = start_readers(settings.remote, [form](const auto& wanted, auto& from, auto& to) {
    return make_file(*form, process_in(wanted.text), from, to);
  });
  if (!readers) return report(readers.error());
  transport::Loop loop;
  transport::StopSource stop(loop);
  const transport::SignalWatch signals(loop, {SIGINT, SIGTERM}, [&stop](int) { stop.stop(); });
  RecentTransfer transfer(loop, agents.front(), settings, *readers);
  const auto received = loop.run(transfer.run(stop));
  if (!received) return report(interrupted("get", "the recording"));
  if (!*received) {
    const int code = report(received->error());
    print_messages(transfer.explanation());
    return code;
  }
  print_message(fmt::format("the last {} s of {}", (*received)->seconds, (*received)->runtime));
  if (!(*received)->nameless.empty()) print_message("names of methods are missing: " + (*received)->nameless);
  std::ignore = print_path((*received)->path);
  return kSuccess;
}

constexpr const char* kRecentAbout =
    "Gets what an agent has recorded of a runtime before now, as a page with a timeline or as a .nettrace\n"
    "file: garbage collections, exceptions with their stacks, waits for locks, the thread pool, processor\n"
    "and memory, logs from warnings on, and where threads spent the processor. The agent must have been\n"
    "started with --recorder. Works for an application that hangs, too: the runtime is only asked for the\n"
    "names of its methods, and they are left out if it does not answer. Prints the path.";
constexpr const char* kRecentExamples = R"(Examples:
  farport recent orders.example:9000
  farport recent orders.example:9000 -o before.html
  farport recent prod-orders/orders --last 30s -o before.json
  farport recent orders.example:9000 --crash 20261127T101112Z-orders-1-1a2b3c4d -o crash.html)";

RunCommand add_recent_options(CLI::App& options, config::Flags& flags) {
  add_target(options, flags);
  add_output(options, flags,
             "Output file; its extension chooses the format: .html (timeline with flame graphs), .json, "
             ".speedscope.json, .nettrace [NAME_TIME.nettrace]");
  options.add_option("--last", flags.duration, "How far back, if so much is kept [2m]")->type_name("TIME");
  options.add_option("--crash", flags.crash, "A runtime that has ended, by its id in farport crashes")
      ->type_name("ID");
  return [&flags] { return run_with(config::resolve_recent(flags), recent); };
}

}  // namespace

const Command kRecent{"recent", "Get what happened in a remote runtime before now, from the agent's recorder",
                      kRecentAbout, kRecentExamples, add_recent_options};

}  // namespace farport::cli
