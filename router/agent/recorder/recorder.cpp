#include "router/agent/recorder/recorder.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "router/helpers/helper_process.hpp"
#include "router/recordings/recordings.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::Task;
using transport::TaskSet;
using Stacks = RecentBlocks::Stacks;

constexpr transport::Milliseconds kUntilNextSession{30'000};
constexpr transport::Milliseconds kEndLimit{3'000};
/// A runtime that has named its methods is left alone for so many times as long as that took, within limits:
/// it is to be busy with it for a small share of the time.
constexpr int kRestAfterNaming = 200;
constexpr transport::Milliseconds kShortestRest{30'000};
constexpr transport::Milliseconds kLongestRest{600'000};
/// After that, it is looked so often whether it has to name them again.
constexpr transport::Milliseconds kLookAtNames{1'000};
/// The parts of a runtime's memory that names of methods may take. Compressed, 5,000 take some 200 KiB.
constexpr std::size_t kMethodsPart = 4;
constexpr std::size_t kLoadsPart = 8;
constexpr std::size_t kSamplesPart = 8;
/// How long one sampling takes. Another runtime's turn comes after it, if there are too many. Reading the
/// process's files may take for ever.
constexpr std::uint32_t kSampleSeconds = 30;
constexpr transport::Milliseconds kSampleLimit{120'000};
/// The shortest time from the start of one to that of the next. No run that is asked for is shorter, so that
/// asking leaves no gap.
constexpr std::chrono::seconds kBetweenSamplings{RecordedSamples::kShortestRun};
/// After a refusal: permissions hardly change.
constexpr transport::Milliseconds kUntilAllowed{600'000};
/// The memory of one sampling, most of which is only used while it names native functions.
constexpr std::uint64_t kSamplingBytes = std::uint64_t{8} << 20;
constexpr std::uint64_t kMaxSamplings = 2;
/// The agent's memory limit with which there is one: the recorder has a quarter, and may use half of that.
constexpr std::uint64_t kLeastLimit = 4 * 2 * kSamplingBytes;
/// How much later names may come than the events that need them: a runtime writes each session every 100 ms.
constexpr transport::Milliseconds kNamesBehind{200};
/// With less than this a runtime's definitions would hardly leave room for events.
constexpr std::uint64_t kMinRuntimeBytes = std::uint64_t{512} << 10;
constexpr std::uint64_t kMaxRecorded = 100;
/// How long the last events of a runtime that has ended may take to come, and how often it is looked whether,
/// and how, its process has ended.
constexpr transport::Milliseconds kLastEvents{300};
constexpr transport::Milliseconds kEndLook{200};
constexpr int kMaxRunningLooks = 50;
constexpr int kMaxEndLooks = 10;
constexpr transport::Milliseconds kWriteLimit{60'000};
constexpr const char* kNaming = "keep the names of methods of";
/// A runtime with 30,000 methods takes 0.4 s, and the others wait for their turn.
constexpr transport::Milliseconds kNamingLimit{10'000};

/// How many samplings there are at a time where all recordings may take so many bytes.
std::size_t samplings_in(std::uint64_t total) {
  return std::min(total / 2 / kSamplingBytes, kMaxSamplings);
}

/// The bytes that a user may have of `total`, where each of `of_user` things takes `most` at most: an equal
/// part, and as much of what others do not need.
std::uint64_t part_of(uid_t user, const std::map<uid_t, std::size_t>& of_user, std::uint64_t most,
                      std::uint64_t total) {
  std::vector<std::pair<std::size_t, uid_t>> by_need;
  for (const auto& [each, count] : of_user) by_need.emplace_back(count, each);
  std::ranges::sort(by_need);
  std::size_t left = by_need.size();
  for (const auto& [count, each] : by_need) {
    const std::uint64_t part = std::min(total / left--, count * most);
    if (each == user) return part;
    total -= part;
  }
  return 0;
}

template <typename File>
CrashPart part_of(CrashPart::Kind kind, File file) {
  const std::uint64_t held = file.held();
  return {kind, [file = std::make_shared<File>(std::move(file))] { return file->next(); }, held};
}

std::vector<CrashPart> parts_of(RecentFiles files) {
  std::vector<CrashPart> parts{part_of(CrashPart::Kind::events, std::move(files.events))};
  if (!files.samples.empty()) parts.push_back(part_of(CrashPart::Kind::samples, std::move(files.samples)));
  for (RecentFile& each : files.names) parts.push_back(part_of(CrashPart::Kind::names, std::move(each)));
  return parts;
}

WatchedProcess watch_process(const Registry& registry, const std::string& runtime_id) {
  const DiagnosticPort* const port = registry.port(runtime_id);
  return port == nullptr ? WatchedProcess(0, 0) : WatchedProcess(port->process().pid, port->process_start());
}

}  // namespace

RuntimeRecorder::RuntimeRecorder(transport::Loop& loop, Registry& registry, const Log& log, Shared& shared,
                                 RecordedSession::Limit limit, Names names, Runtime runtime)
    : loop_(loop),
      registry_(registry),
      log_(log),
      shared_(shared),
      limit_(std::move(limit)),
      runtime_(std::move(runtime)),
      process_(watch_process(registry, runtime_.id)),
      events_(loop, registry, shared.groups, "keep the last minutes of", Stacks::keep,
              [this] { return limit_of_events(); }),
      samples_(loop, [this] { return limit_() / kSamplesPart; }),
      loads_(loop, registry, shared.groups, kNaming, Stacks::leave_out,
             [this] { return limit_() / kLoadsPart; }),
      methods_(0),
      tasks_(loop) {
  tasks_.spawn(repeat(&RuntimeRecorder::record_events));
  if (shared_.sampler != nullptr) tasks_.spawn(record_samples());
  if (names == Names::ask_later) return;
  tasks_.spawn(find_group());
  tasks_.spawn(repeat(&RuntimeRecorder::record_names));
}

std::size_t RuntimeRecorder::limit_of_events() {
  // The limit falls as more runtimes are recorded, and names must not take what is left for events.
  const std::size_t limit = limit_();
  methods_.set_limit(limit / kMethodsPart);
  samples_.trim(limit / kSamplesPart);
  return limit - std::min(limit, methods_.size() + samples_.size() + limit / kLoadsPart);
}

Task<void> RuntimeRecorder::find_group() {
  auto found = co_await shared_.groups.find(runtime_.id);
  if (found) group_ = std::move(*found);
}

Task<void> RuntimeRecorder::repeat(Record record) {
  for (;;) {
    const Result<void> recorded = co_await (this->*record)();
    if (!recorded) log_->warn("{}; retrying", recorded.error().message());
    co_await transport::sleep(loop_, kUntilNextSession);
  }
}

Task<Result<void>> RuntimeRecorder::record_events() {
  CO_RETURN_IF_ERROR(co_await events_.begin(runtime_, wanted_recent(runtime_.version)));
  auto taken = co_await events_.take_all();
  co_return taken;
}

Task<Result<void>> RuntimeRecorder::record_names() {
  named_at_.reset();
  CO_RETURN_IF_ERROR(co_await loads_.begin(runtime_, wanted_loads(runtime_.version)));
  // What is loaded from now on is in one of the two.
  TaskSet naming(loop_);
  naming.spawn(keep_methods());
  auto taken = co_await loads_.take_all();
  co_return taken;
}

Task<void> RuntimeRecorder::keep_methods() {
  for (;;) {
    Result<void> named;
    Clock::duration took{};
    {
      // One runtime at a time, since each costs its runtime some processor and both of them memory.
      const auto turn = co_await shared_.naming.take();
      const auto begun = Clock::now();
      named = co_await record_methods();
      took = Clock::now() - begun;
    }
    // That of one that has ended is nobody's concern.
    if (!named && registry_.port(runtime_.id) != nullptr) log_->warn("{}; retrying", named.error().message());
    const auto rest = std::chrono::ceil<transport::Milliseconds>(took * kRestAfterNaming);
    co_await transport::sleep(loop_, std::clamp(rest, kShortestRest, kLongestRest));
    while (named && !names_needed()) co_await transport::sleep(loop_, kLookAtNames);
  }
}

bool RuntimeRecorder::names_needed() {
  const RecentBlocks& loads = loads_.blocks();
  // When loads had to go that no naming has told; or better, before they have to.
  if (!named_at_ || loads.dropped_until() > *named_at_) return true;
  if (loads.size_since(*named_at_) > limit_() / kLoadsPart / 2) return true;
  // The limit may have fallen for a while.
  return !methods_.is_whole() && whole_size_ > 0 && whole_size_ <= limit_() / kMethodsPart;
}

Task<Result<void>> RuntimeRecorder::record_methods() {
  RecordedSession methods(loop_, registry_, shared_.groups, kNaming, Stacks::leave_out,
                          [this] { return limit_() / kMethodsPart; });
  const auto begun = Clock::now();
  CO_RETURN_IF_ERROR(co_await methods.begin(runtime_, wanted_method_names(runtime_.version)));
  // The names come when the session ends, and may not fit the runtime's buffers before it answers.
  TaskSet stopping(loop_);
  stopping.spawn(methods.stop());
  const auto taken = co_await with_deadline(loop_, methods.take_all(), kNamingLimit);
  if (!taken)
    co_return fail(kNaming, runtime_.name,
                   fmt::format("it took longer than {} s", kNamingLimit / std::chrono::seconds(1)));
  if (!*taken) co_return *taken;
  methods_ = methods.blocks();
  named_at_ = begun;
  whole_size_ = methods_.is_whole() ? methods_.size() : 0;
  if (!methods_.is_whole() && !std::exchange(told_of_names_, true))
    log_->warn(
        "some methods of {} will have no names once it has ended: there are too many for its part of "
        "the memory; raise recorder.runtime_memory, or give the agent more memory",
        runtime_.name);
  co_return Result<void>();
}

Task<void> RuntimeRecorder::record_samples() {
  for (;;) {
    const auto begun = Clock::now();
    const Result<void> sampled = co_await sample();
    if (const auto events = events_.blocks().begun()) samples_.drop_before(*events);
    transport::Milliseconds pause = kUntilNextSession;
    if (sampled) {
      // One that ends too early must not begin again and again.
      pause = std::max<transport::Milliseconds>(
          std::chrono::ceil<transport::Milliseconds>(begun + kBetweenSamplings - Clock::now()),
          transport::Milliseconds(0));
    } else if (!process_.ended() && registry_.port(runtime_.id) != nullptr) {
      if (std::exchange(shared_.why_not_sampled, sampled.error().why) != sampled.error().why)
        log_->info("the recorder keeps no samples of the processor: {}", sampled.error().message());
      if (sampled.error().cause == ENOTSUP) pause = kUntilAllowed;
    }
    co_await transport::sleep(loop_, pause);
  }
}

Task<Result<void>> RuntimeRecorder::sample() {
  SamplingRequest wanted;
  wanted.frequency = kRecentFrequency;
  wanted.seconds = kSampleSeconds;
  wanted.memory = kSamplingBytes;
  // In turn, since each takes some memory of the agent, and of the kernel.
  const auto place = co_await shared_.sampling.take();
  CO_ASSIGN_OR_RETURN(auto sampling,
                      SamplerWork::ask(loop_, registry_, shared_.sampler.get(), runtime_, wanted));
  CO_RETURN_IF_ERROR(co_await sampling->begin(runtime_.name));
  const auto recorded = co_await with_deadline(loop_, samples_.record(std::move(sampling)), kSampleLimit);
  if (!recorded) co_return fail("sample", runtime_.name, "the sampler does not end");
  co_return *recorded;
}

std::optional<RecentFiles> RuntimeRecorder::files(RecentBlocks::Clock::time_point since) const {
  auto events = events_.blocks().file(since);
  if (!events) return std::nullopt;
  RecentFiles files{std::move(*events), samples_.file(since)};
  add_names(files);
  return files;
}

void RuntimeRecorder::add_names(RecentFiles& files) const {
  files.names.clear();
  files.all_named = named_at_ && methods_.is_whole() && loads_.blocks().dropped_until() <= *named_at_;
  // The rundown first: what it names takes no memory of a reader when it comes again.
  for (const RecentBlocks* const names : {&methods_, &loads_.blocks()}) {
    auto file = names->file({});
    if (file) files.names.push_back(std::move(*file));
  }
}

std::size_t RuntimeRecorder::size() const {
  return events_.blocks().size() + samples_.size() + loads_.blocks().size() + methods_.size();
}

void RuntimeRecorder::trim() {
  loads_.trim();
  events_.trim();
}

Task<void> RuntimeRecorder::end() {
  // Reading goes on meanwhile.
  co_await events_.stop();
  co_await loads_.stop();
  tasks_.clear();
}

Recorder::Recorder(transport::Loop& loop, Registry& registry, MemoryGroups& groups, Log log,
                   RecorderSettings settings, std::shared_ptr<const Artifacts> artifacts,
                   std::shared_ptr<const SamplerProcess> sampler, OnEnded on_ended)
    : loop_(loop),
      log_(std::move(log)),
      settings_(settings),
      total_(std::max(memory_for_helpers(), kMinRuntimeBytes)),
      artifacts_(std::move(artifacts)),
      writing_(loop, 1),
      shared_(loop, groups, std::move(sampler), samplings_in(total_)),
      on_ended_(std::move(on_ended)),
      keeping_(loop),
      kept_(
          loop, registry, log_, std::min(total_ / kMinRuntimeBytes, kMaxRecorded), "the recorder",
          [this, &loop, &registry](const Runtime& runtime) {
            using Names = RuntimeRecorder::Names;
            return std::make_unique<RuntimeRecorder>(
                loop, registry, log_, shared_, [this, user = runtime.user] { return limit(user); },
                artifacts_ == nullptr ? Names::ask_later : Names::keep, runtime);
          },
          [this](std::unique_ptr<RuntimeRecorder> recorder) {
            if (artifacts_ != nullptr) keeping_.spawn(keep_ended(std::move(recorder)));
          }) {
  if (settings_.samples && samplings_in(total_) == 0)
    log_->info("the recorder keeps no samples of the processor: that takes a memory limit of {} MiB",
               kLeastLimit >> 20);
}

Task<bool> Recorder::wait_for_end(Ended& ended) {
  const std::string name =
      fmt::format("{} (pid {})", ended.recorder->runtime().name, ended.recorder->runtime().pid);
  co_await transport::sleep(loop_, kLastEvents);
  // Its socket may go some time before the process does, or alone.
  for (int looks = 0; ended.recorder && looks < kMaxRunningLooks && ended.recorder->process().runs();
       ++looks) {
    ended.recorder->trim();
    co_await transport::sleep(loop_, kEndLook);
  }
  for (int looks = 0; ended.recorder && looks < kMaxEndLooks && ended.recorder->process().ended() &&
                      !ended.recorder->process().end();
       ++looks)
    co_await transport::sleep(loop_, kEndLook);
  if (!ended.recorder) co_return false;
  if (!ended.recorder->process().runs()) co_return true;
  log_->info("what was recorded of {} is dropped: it is listed no more, but its process runs", name);
  co_return false;
}

void Recorder::drop_ended() {
  std::map<uid_t, std::size_t> of_user;
  for (const Ended& each : ended_) {
    if (each.recorder) ++of_user[each.user];
  }
  const std::size_t most = std::min(total_ / kMinRuntimeBytes, kMaxRecorded);
  if (of_user.empty() || kept_.all().size() + ended_.size() <= most) return;
  const uid_t user =
      std::ranges::max_element(of_user, {}, [](const auto& each) { return each.second; })->first;
  const auto oldest =
      std::ranges::find_if(ended_, [user](const Ended& each) { return each.recorder && each.user == user; });
  ++ended_lost_;
  log_->error(
      "what was recorded of {}, which has ended, is lost: too many runtimes of the user {} have ended at "
      "once",
      oldest->recorder->runtime().name, user);
  oldest->recorder.reset();
}

Task<void> Recorder::keep_ended(std::unique_ptr<RuntimeRecorder> recorder_of) {
  const auto now = std::chrono::system_clock::now();
  const auto ended = Clock::now();
  const std::string name =
      fmt::format("{} (pid {})", recorder_of->runtime().name, recorder_of->runtime().pid);
  // At once: the group of a container soon goes.
  bool ran_out = recorder_of->group_ran_out();
  struct Place {
    Place(std::list<Ended>& of, std::unique_ptr<RuntimeRecorder> ended)
        : all(of), at(of.insert(of.end(), Ended{ended->runtime().user, nullptr})) {
      at->recorder = std::move(ended);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { all.erase(at); }
    std::list<Ended>& all;
    std::list<Ended>::iterator at;
  };
  std::optional<Place> place(std::in_place, ended_, std::move(recorder_of));
  drop_ended();
  for (const Ended& each : ended_) {
    if (each.recorder) each.recorder->trim();
  }
  const bool has_ended = co_await wait_for_end(*place->at);
  if (!has_ended) co_return;
  // From now on it is kept.
  std::unique_ptr<RuntimeRecorder> recorder = std::move(place->at->recorder);
  const WatchedProcess& process = recorder->process();
  co_await recorder->samples().run_end();
  const auto keeping = std::make_shared<Keeping>();
  keeping->files = recorder->files(Clock::time_point::min());
  if (!keeping->files) co_return;
  Artifact& crash = keeping->crash;
  crash.kind = kCrash;
  crash.ending = ".nettrace";
  crash.permissions = {std::string(ipc::name_of(ipc::kCollectTracing2))};
  crash.runtime = recorder->runtime();
  crash.time = utc_text(now);
  if (const auto end = process.end()) {
    ran_out = ran_out || recorder->group_ran_out();
    crash.why = end->text() + (end->by_kill() && ran_out ? ": its control group ran out of memory" : "");
    crash.in_order = end->in_order();
  }
  const auto reaches = std::chrono::ceil<std::chrono::seconds>(ended - keeping->files->events.begun());
  crash.seconds = static_cast<std::uint32_t>(std::max<std::int64_t>(reaches.count(), 0));
  const std::size_t bytes = recorder->size();
  recorder.reset();
  place.reset();
  const Result<void> kept = co_await write_ended(keeping, bytes);
  ++(kept ? ended_kept_ : ended_lost_);
  if (kept) {
    log_->info("kept the last {} s of {}, {}: {}", crash.seconds, name,
               crash.why.empty() ? "which has ended" : crash.why, crash.id);
    on_ended_(crash);
  } else {
    log_->error("what was recorded of {}, which has ended, is lost: {}", name, kept.error().message());
  }
}

Task<Result<void>> Recorder::write_ended(std::shared_ptr<Keeping> keeping, std::size_t bytes) {
  // As much as all runtimes had: they may all have ended at once. Those of one user leave room for others'.
  std::size_t& of_user = unwritten_of_[keeping->crash.runtime.user];
  if (unwritten_bytes_ + bytes > total_ || (of_user > 0 && of_user + bytes > total_ / 2))
    co_return fail("keep", "what was recorded", "too many runtimes have ended at once",
                   "use a faster disk, or give the agent more memory");
  unwritten_bytes_ += bytes;
  of_user += bytes;
  // One at a time: each looks for room first.
  const auto turn = co_await writing_.take();
  std::function<void()> work = [directory = artifacts_, keeping] {
    keeping->kept = directory->keep(keeping->crash, parts_of(*keeping->files), keeping->removed);
  };
  const Result<void> ran = co_await transport::run_detached(loop_, std::move(work), kWriteLimit);
  unwritten_bytes_ -= bytes;
  of_user -= bytes;
  // The work may still be using it if it did not end in time.
  if (!ran) co_return ran;
  if (keeping->removed > 0) log_->warn("removed older artifacts to make room: {}", keeping->removed);
  co_return keeping->kept;
}

std::size_t Recorder::limit(uid_t user) const {
  std::map<uid_t, std::size_t> of_user;
  for (const auto& [id, recorder] : kept_.all()) ++of_user[recorder->runtime().user];
  for (const Ended& each : ended_) ++of_user[each.user];
  of_user[user] = std::max<std::size_t>(of_user[user], 1);
  const std::uint64_t part = part_of(user, of_user, settings_.runtime_bytes,
                                     total_ - std::min<std::uint64_t>(unwritten_bytes_, total_));
  return std::min(settings_.runtime_bytes, std::max(part / of_user[user], kMinRuntimeBytes));
}

Task<void> Recorder::end() {
  co_await kept_.end(kEndLimit);
  co_await with_deadline(loop_, keeping_.idle(), kEndLimit);
}

Task<std::optional<RecentFiles>> Recorder::files(std::string runtime_id, Clock::time_point since,
                                                 bool with_samples) const {
  const auto before = kept_.all().find(runtime_id);
  if (before == kept_.all().end()) co_return std::nullopt;
  if (with_samples) co_await before->second->samples().end_run();
  // The runtime may have ended meanwhile, and may below.
  const auto now = kept_.all().find(runtime_id);
  if (now == kept_.all().end()) co_return std::nullopt;
  auto files = now->second->files(since);
  if (files && !with_samples) files->samples = {};
  if (!files || files->names.empty()) co_return files;
  co_await transport::sleep(loop_, kNamesBehind);
  const auto later = kept_.all().find(runtime_id);
  if (later != kept_.all().end()) later->second->add_names(*files);
  co_return files;
}

RecorderTotals Recorder::totals() const {
  RecorderTotals totals;
  totals.kept = ended_kept_;
  totals.lost = ended_lost_;
  const Clock::time_point now = Clock::now();
  for (const auto& [id, recorder] : kept_.all()) {
    totals.bytes += recorder->size();
    const auto begun = recorder->begun();
    if (!begun) continue;
    const auto reach = std::chrono::floor<std::chrono::seconds>(now - *begun);
    totals.reach = totals.runtimes == 0 ? reach : std::min(totals.reach, reach);
    ++totals.runtimes;
  }
  return totals;
}

}  // namespace farport::router
