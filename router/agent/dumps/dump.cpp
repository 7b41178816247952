#include "router/agent/dumps/dump.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/process_stat.hpp"
#include "base/resources.hpp"
#include "ipc/message.hpp"
#include "router/agent/sampler/sampler_looks.hpp"
#include "router/stream/compressing_stream.hpp"
#include "router/stream/first_message.hpp"
#include "router/wire/dump.hpp"
#include "transport/child_process.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

/// Room for a path and a few flags.
constexpr std::size_t kMaxArguments = 64 * 1024;

bool writes_to(pid_t pid, const std::string& path) {
  const std::string directory = directory_of_process(pid);
  const auto name = read_limited(directory + "/comm", kMaxArguments);
  if (!name || *name != "createdump\n") return false;
  const auto arguments = read_limited(directory + "/cmdline", kMaxArguments);
  return arguments && arguments->find(path) != std::string::npos;
}

/// Calls `each` for each child that one of the process's threads has started.
template <typename Each>
void each_child(pid_t pid, Each each) {
  const std::string tasks = directory_of_process(pid) + "/task";
  for (const int task : numbered_entries(tasks)) {
    std::ifstream children(tasks + "/" + std::to_string(task) + "/children");
    for (pid_t child = 0; children >> child;) each(child);
  }
}

}  // namespace

bool is_stopped(pid_t runtime) {
  const std::optional<ProcessStat> stat = process_stat(runtime);
  return stat && stat->is_stopped();
}

void wake_stopped(pid_t runtime) {
  const UniqueFd process = transport::open_pidfd(runtime);
  if (!process || !is_stopped(runtime)) return;
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGCONT, nullptr, 0);
}

bool stop_createdump(pid_t runtime, const std::string& path) {
  bool stopped = false;
  if (runtime <= 0) return false;
  each_child(runtime, [&](pid_t child) {
    // Signal by pidfd, so that no later process with this pid is hit.
    const UniqueFd process = transport::open_pidfd(child);
    if (!process || !writes_to(child, path)) return;
    stopped = ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0 || stopped;
  });
  return stopped;
}

namespace {

using transport::IoStatus;
using transport::Task;

constexpr transport::Milliseconds kProgressLook{200};
constexpr std::size_t kReadSize = 256 * 1024;
/// How long the last of a dump may stand still once its writer has ended.
constexpr transport::Milliseconds kDrainLimit{60'000};
/// How often, and how many times, to look at a runtime whose writer has been killed.
constexpr transport::Milliseconds kLookAtEnd{10};
constexpr int kLooksAtEnd = 10;
/// How many looks a runtime gets to answer once its writer has been killed.
constexpr int kLooksForAnswer = 25;
/// A process can make reading about it take for ever.
constexpr transport::Milliseconds kFactsLimit{2000};
/// How often to look whether an application has ended that has not answered.
constexpr int kLooksAtLast = 20;
constexpr transport::Milliseconds kBetweenLastLooks{50};
/// After a search for what dead agents have left, rest this many times as long as it took.
constexpr int kRestsPerLook = 10;

/// Newest first; older runtimes don't know the newer commands.
constexpr std::array kCommands{ipc::kGenerateCoreDump3, ipc::kGenerateCoreDump2, ipc::kGenerateCoreDump};

/// How many times to ask while threads end as createdump attaches to them.
constexpr int kTries = 3;

/// Whether createdump has met a thread that had ended since it listed them (in its own words), before it
/// wrote anything.
bool has_missed_a_thread(std::string_view said) {
  return said.find("ptrace(ATTACH") != std::string_view::npos &&
         said.find("No such process") != std::string_view::npos;
}

constexpr char kOnlyFull[] =
    "a suspended runtime writes only full dumps: take one of type full, or let it run first";

}  // namespace

Result<std::unique_ptr<Dumps::Job>> Dumps::start(const Runtime& runtime, DumpRequest request) {
  if (jobs_.contains(runtime.id)) {
    return tl::unexpected(Error{"take a dump of", runtime.name, "another dump of it is under way",
                                "wait until that one has ended", Cause(EBUSY)});
  }
  const DiagnosticPort* port = registry_.port(runtime.id);
  if (port == nullptr) return fail("take a dump of", runtime.name, "it has ended");
  auto job = std::make_unique<Job>(*this, runtime, request);
  return job;
}

const DumpProgress* Dumps::progress(std::string_view id) const {
  const auto job = jobs_.find(id);
  return job == jobs_.end() ? nullptr : &job->second->progress();
}

Task<void> Dumps::keep_clean() {
  const auto watch = registry_.watch();
  for (;;) {
    const std::optional<RuntimeEvent> event = co_await watch->next();
    if (!event) co_return;
    if (event->kind != RuntimeEvent::Kind::added) continue;
    const auto start = std::chrono::steady_clock::now();
    co_await clean(event->runtime);
    // There may be a thousand runtimes, and in their directories whatever others put there.
    const auto took =
        std::chrono::duration_cast<transport::Milliseconds>(std::chrono::steady_clock::now() - start);
    co_await transport::sleep(loop_, took * kRestsPerLook);
  }
}

Task<void> Dumps::clean(Runtime runtime) {
  const DiagnosticPort* port = registry_.port(runtime.id);
  if (port == nullptr) co_return;
  const uid_t user = port->process().uid;
  auto shared = co_await find_shared(port->process(), port->path());
  if (!shared) co_return;
  struct Work {
    SharedDirectory shared;
    std::vector<std::string> removed;
  };
  const auto work = std::make_shared<Work>(Work{std::move(*shared), {}});
  const std::function<void()> remove = [work, user] {
    work->removed = remove_abandoned_dumps(work->shared, user);
  };
  const Result<void> done = co_await transport::run_detached(loop_, remove, kFactsLimit);
  if (!done) co_return;
  for (const std::string& path : work->removed) {
    log_->info("removed a dump that an agent had left behind: {}", path);
  }
}

Task<Result<SharedDirectory>> Dumps::find_shared(transport::PeerCredentials process, std::string socket) {
  const auto found = std::make_shared<Result<SharedDirectory>>();
  std::function<void()> look = [found, settings = settings_, process, socket] {
    *found = find_shared_directory(settings, process, socket);
  };
  CO_RETURN_IF_ERROR(co_await looks_.run(process.pid, process.uid, std::move(look)));
  co_return std::move(*found);
}

Task<Createdump> Dumps::find_writer(transport::PeerCredentials process, bool native) {
  const auto found = std::make_shared<Createdump>();
  std::function<void()> look = [found, process, native, sampler = sampler_] {
    *found = look_for_createdump(sampler.get(), process.pid, process.uid, native);
  };
  const Result<void> looked = co_await looks_.run(process.pid, process.uid, std::move(look));
  Createdump unknown;
  if (!looked) unknown.why = looked.error().why;
  co_return looked ? std::move(*found) : unknown;
}

Task<bool> Dumps::stop_writer(pid_t process, std::string path) {
  if (process <= 0) co_return false;
  const auto stopped = std::make_shared<bool>(false);
  const std::function<void()> stop = [stopped, process, path] { *stopped = stop_createdump(process, path); };
  const Result<void> done = co_await transport::run_detached(loop_, stop, kFactsLimit);
  co_return done.has_value() && *stopped;
}

/// Ends the writer of a dump whose Job is gone, and wakes the runtime if it stays stopped.
Task<void> Dumps::end(pid_t process, std::string path, bool wake) {
  std::ignore = co_await stop_writer(process, std::move(path));
  for (int look = 0; wake && look < kLooksAtEnd; ++look) {
    co_await transport::sleep(loop_, kLookAtEnd);
    wake_stopped(process);
  }
}

Dumps::Job::Job(Dumps& dumps, Runtime runtime, DumpRequest request)
    : dumps_(dumps),
      runtime_(std::move(runtime)),
      request_(request),
      look_(dumps.loop_),
      passed_(dumps.loop_) {
  dumps_.jobs_.emplace(runtime_.id, this);
}

Dumps::Job::~Job() {
  dumps_.jobs_.erase(runtime_.id);
  // Only a dump that is still being written has a writer to end. After take() or keep() there is no
  // directory.
  if (directory_ == nullptr || (asked_ == nullptr && !writer_killed_)) return;
  std::string path = directory_->path_for_runtime();
  directory_.reset();
  dumps_.endings_.spawn(dumps_.end(process_, std::move(path), wakes_));
}

Task<Result<void>> Dumps::Job::prepare() {
  const DiagnosticPort* port = dumps_.registry_.port(runtime_.id);
  if (port == nullptr) co_return fail("take a dump of", runtime_.name, "it has ended");
  const transport::PeerCredentials process = port->process();
  const std::uint64_t start = port->process_start();
  const std::string socket = port->path();
  const Createdump writer = co_await dumps_.find_writer(process, runtime_.native);
  if (auto refused = refusal_of(writer, runtime_.name, request_.type))
    co_return tl::unexpected(std::move(*refused));
  CO_ASSIGN_OR_RETURN(auto shared, co_await dumps_.find_shared(process, socket));
  if (stopped_) co_return tl::unexpected(*stopped_);
  const std::string warning = ensure_sticky_bit(shared);
  if (!warning.empty()) dumps_.log_->warn("{}", warning);
  CO_ASSIGN_OR_RETURN(auto directory, DumpDirectory::make(std::move(shared), process.uid));
  directory_ = std::move(directory);
  process_ = process.pid;
  wakes_ = !is_stopped(process_);
  before_ = look_before_dump(process_, runtime_.version);
  if (before_) progress_.estimate = dump_need(*before_, request_.type).file;
  process_start_ = start;
  socket_ = socket;
  auto group = co_await dumps_.groups_.look(runtime_.id);
  if (group) group_ = std::move(*group);
  on_host_ = available_memory();
  if (stopped_) co_return tl::unexpected(*stopped_);
  co_return Result<void>();
}

Result<void> Dumps::Job::check_room() const {
  const std::uint64_t bytes = progress_.estimate.value_or(0);
  RETURN_IF_ERROR(check_space(bytes));
  return check_memory(directory_->is_in_memory() ? directory_->path_for_runtime() : "");
}

Result<void> Dumps::Job::check_limits() const {
  RETURN_IF_ERROR(check_limit(dumps_.settings_, runtime_.name, progress_.estimate.value_or(0)));
  return check_memory("");
}

Result<void> Dumps::Job::check_memory(const std::string& into_memory) const {
  if (!before_ || request_.anyway) return {};
  const MemoryLeft left{dumps_.groups_.left_in(group_), on_host_};
  return router::check_memory(left, runtime_.name, *before_, request_.type, into_memory);
}

Result<void> Dumps::Job::check_space(std::uint64_t more) const {
  return router::check_space(*directory_, dumps_.settings_, runtime_.name, {more, progress_.written});
}

Task<Result<void>> Dumps::Job::write() {
  CO_RETURN_IF_ERROR(check_room());
  CO_RETURN_IF_ERROR(co_await ask_and_watch());
  progress_.written = directory_->written();
  co_return Result<void>();
}

Task<Result<void>> Dumps::Job::write_to(transport::Stream& to, DumpPipe pipe,
                                        transport::Milliseconds longest) {
  straight_ = true;
  transport::FdStream from(dumps_.loop_, std::move(pipe.reading), "the dump's pipe");
  transport::TaskSet passing(dumps_.loop_);
  passing.spawn(pass_on(from, to));
  {
    transport::TaskSet limiting(dumps_.loop_);
    limiting.spawn(stop_after(longest));
    CO_RETURN_IF_ERROR(co_await ask_and_watch());
  }
  // createdump has ended, so the pipe ends now, unless somebody else has opened it.
  pipe.held.reset();
  CO_RETURN_IF_ERROR(co_await drained());
  const IoStatus finished = co_await to.finish();
  if (finished != IoStatus::ok) co_return tl::unexpected(to.error());
  co_return Result<void>();
}

/// Waits until all that is in the pipe has passed. The application runs on meanwhile.
Task<Result<void>> Dumps::Job::drained() {
  while (!all_passed_ && !stopped_) {
    const std::uint64_t before = progress_.sent;
    const bool changed = co_await with_deadline(dumps_.loop_, passed_.wait(), kDrainLimit);
    // What does not move is not the runtime's any more, or the store does not take it.
    if (!changed && before == progress_.sent)
      stop(Error{"take a dump of", runtime_.name, "its pipe does not end"});
  }
  if (stopped_) co_return tl::unexpected(*stopped_);
  if (core_.is_whole()) co_return Result<void>();
  Error cut{"take a dump of", runtime_.name,
            fmt::format("its writer has ended early: {} were written", mebibytes(core_.taken()))};
  if (core_.taken() == 0 && writes_full_dumps_only()) cut.hint = kOnlyFull;
  co_return tl::unexpected(std::move(cut));
}

/// Passes on what comes through the pipe, until that ends.
Task<void> Dumps::Job::pass_on(transport::Stream& from, transport::Stream& to) {
  std::vector<std::byte> buffer(kReadSize);
  for (;;) {
    const transport::Io got = co_await from.read(buffer);
    if (got.status == IoStatus::end) break;
    if (got.status != IoStatus::ok) co_return stop(from.error());
    progress_.written += got.bytes;
    const auto bytes = std::span<const std::byte>(buffer).first(got.bytes);
    const Result<void> allowed = router::check_limit(dumps_.settings_, runtime_.name, progress_.written);
    if (!allowed) co_return stop(allowed.error());
    core_.take(bytes);
    const IoStatus written = co_await to.write(bytes);
    if (written != IoStatus::ok) co_return stop(to.error());
    progress_.sent = progress_.written;
  }
  all_passed_ = true;
  passed_.changed();
}

Task<void> Dumps::Job::stop_after(transport::Milliseconds longest) {
  co_await transport::sleep(dumps_.loop_, longest);
  stop(Error{"take a dump of", runtime_.name,
             fmt::format("it was stopped for {} s, as long as was allowed, and {} were written",
                         std::chrono::duration<double>(longest).count(), mebibytes(progress_.written)),
             "allow more with --longest-stop, or take a smaller --type"});
}

std::uint64_t Dumps::Job::memory_needed() const {
  if (!before_) return 0;
  const DumpNeed need = dump_need(*before_, request_.type);
  return need.memory + (!straight_ && directory_->is_in_memory() ? need.file : 0);
}

Task<Result<void>> Dumps::Job::ask_and_watch() {
  // What is begun beside it finds less room.
  const auto claim = dumps_.groups_.claim(group_, memory_needed());
  Task<void> watching = watch();
  watching.start();
  const Answer answer = co_await ask();
  if (stopped_ && wakes_) co_await let_go();
  if (stopped_) co_return tl::unexpected(*stopped_);
  if (answer && ipc::is_ok(*answer)) co_return Result<void>{};
  Error failed = answer ? Error{} : answer.error();
  if (answer) {
    CO_ASSIGN_OR_RETURN(const auto refused, ipc::decode_error(*answer));
    failed = refused_by_runtime(refused);
  }
  Error told = co_await after(std::move(failed), !answer);
  co_return tl::unexpected(std::move(told));
}

Task<Error> Dumps::Job::after(Error failed, bool without_answer) {
  struct Left {
    bool process = true;
    bool socket = true;
    bool ran_out = false;
  };
  const auto left = std::make_shared<Left>();
  // One that is ending closes its connections first.
  const int looks = without_answer ? kLooksAtLast : 1;
  // A process that could not be seen before can't be missed now.
  const pid_t seen = before_ && process_start_ != 0 ? process_ : 0;
  std::function<void()> work = [left, looks, pid = seen, start = process_start_, socket = socket_,
                                group = group_.group, kills = group_.kills] {
    for (int look = 0; pid > 0 && left->process && look < looks; ++look) {
      if (look > 0) std::this_thread::sleep_for(kBetweenLastLooks);
      const auto stat = process_stat(pid);
      left->process = stat && stat->start_time == start && stat->state != 'Z' && stat->state != 'X';
    }
    struct stat status {};
    left->socket = socket.empty() || ::lstat(socket.c_str(), &status) == 0 || errno != ENOENT;
    left->ran_out = group != nullptr && group->kills() > kills;
  };
  const Result<void> looked = co_await transport::run_detached(dumps_.loop_, work, kFactsLimit);
  // The thread may go on.
  if (!looked) co_return failed;
  const std::string cure = request_.type == ipc::DumpType::normal
                               ? "raise the memory limit"
                               : "take one of type mini, or raise the memory limit";
  if (!left->process) {
    failed.why = "the application has ended while it wrote the dump";
    if (left->ran_out) failed.why += ": its control group ran out of memory, and the kernel killed it";
    failed.hint = left->ran_out ? cure : "";
  } else if (left->ran_out) {
    failed.why += "; meanwhile its control group ran out of memory, and the kernel killed a process in it";
    failed.hint = cure;
  } else if (!left->socket) {
    failed.why += "; and its diagnostic socket is gone, so that no tool reaches it any more";
    failed.hint = "start the application again";
  }
  co_return failed;
}

bool Dumps::Job::writes_full_dumps_only() const {
  return runtime_.state == RuntimeState::suspended && request_.type != ipc::DumpType::full;
}

Error Dumps::Job::refused_by_runtime(const ipc::ErrorAnswer& answer) const {
  Error why{"take a dump of", runtime_.name, answer.message(), {}, Cause::runtime(answer.hresult)};
  if (writes_full_dumps_only()) {
    why.hint = kOnlyFull;
    return why;
  }
  if (has_missed_a_thread(answer.text)) {
    why.hint =
        fmt::format("threads of it end too fast for createdump, {} times in a row: take it again", kTries);
    return why;
  }
  // createdump's own wording.
  const auto says = [&](std::string_view words) { return answer.text.find(words) != std::string::npos; };
  if (says("ptrace") || says("process_vm_readv") || says("Operation not permitted")) {
    why.hint =
        "the runtime's host keeps createdump from reading the process: kernel.yama.ptrace_scope must be 0 or "
        "1, "
        "and a container's seccomp profile must allow ptrace and process_vm_readv (or give it "
        "CAP_SYS_PTRACE)";
    return why;
  }
  if (says("No such file or directory")) {
    why.hint = "does the runtime see " + directory_->described() +
               "? set [dump] directory and runtime_directory to a place that it shares with the agent";
  }
  return why;
}

Task<Dumps::Job::Answer> Dumps::Job::ask() {
  for (int tries = 1;; ++tries) {
    Answer answer = co_await ask_once();
    const auto refused = answer ? ipc::decode_error(*answer) : tl::unexpected(answer.error());
    const bool again = refused && has_missed_a_thread(refused->text) && !stopped_ && tries < kTries;
    if (!again) co_return answer;
    dumps_.log_->info("a thread of {} (pid {}) ended while its dump began: beginning it again", runtime_.name,
                      runtime_.pid);
  }
}

Task<Dumps::Job::Answer> Dumps::Job::ask_once() {
  for (const ipc::Command command : kCommands) {
    Answer answer = co_await ask_with(command);
    if (!answer || stopped_) co_return answer;
    const auto refused = ipc::decode_error(*answer);
    if (!refused || refused->hresult != ipc::hresult::kUnknownCommand) co_return answer;
  }
  co_return fail("take a dump of", runtime_.name, "its runtime supports none of the dump commands");
}

Task<Dumps::Job::Answer> Dumps::Job::ask_with(ipc::Command command) {
  DiagnosticPort* port = dumps_.registry_.port(runtime_.id);
  if (port == nullptr) co_return fail("take a dump of", runtime_.name, "it has ended");
  CO_ASSIGN_OR_RETURN(const auto connection, co_await port->open());
  if (stopped_) co_return tl::unexpected(*stopped_);
  ipc::GenerateCoreDump question;
  question.path = directory_->path_for_runtime();
  question.type = request_.type;
  // The oldest command knows only this one flag.
  question.flags =
      command == ipc::kGenerateCoreDump ? request_.flags & ipc::dump_flag::kLogging : request_.flags;
  CO_ASSIGN_OR_RETURN(const auto message, ipc::encode_message(ipc::make_message(command, question.encode())));
  const IoStatus written = co_await connection->write(message);
  if (written != IoStatus::ok) co_return tl::unexpected(connection->error());
  asked_ = connection.get();
  const auto answer = co_await read_first_message(*connection);
  asked_ = nullptr;
  if (!answer) {
    co_return fail("take a dump of", runtime_.name,
                   "the runtime ended or closed the connection while writing it");
  }
  co_return ipc::decode_message(answer->bytes);
}

Task<void> Dumps::Job::watch() {
  for (;;) {
    co_await with_deadline(dumps_.loop_, look_.wait(), kProgressLook);
    if (!straight_) progress_.written = directory_->written();
    const Result<void> enough = straight_ ? Result<void>() : check_space(0);
    if (!enough) stop(enough.error());
    // Try at each look, since the writer may not have been there at the first one.
    if (stopped_) co_await end_writing();
    if (writer_killed_ && wakes_) wake_stopped(process_);
  }
}

/// Wakes the runtime, which may stop only just after it has answered.
Task<void> Dumps::Job::let_go() {
  for (int look = 0; look < kLooksAtEnd; ++look) {
    co_await transport::sleep(dumps_.loop_, kLookAtEnd);
    wake_stopped(process_);
  }
}

void Dumps::Job::stop(Error why) {
  if (stopped_) return;
  stopped_ = std::move(why);
  look_.set();
  passed_.changed();
}

Task<void> Dumps::Job::end_writing() {
  ++looks_at_end_;
  const bool killed = co_await dumps_.stop_writer(process_, directory_->path_for_runtime());
  writer_killed_ = writer_killed_ || killed;
  if (writer_killed_ && looks_at_end_ < kLooksForAnswer) co_return;
  leave_writer();
}

/// Gives up on a writer that can't be stopped: the runtime itself, or a process that isn't visible here. A
/// writer that has not begun, such as that of a frozen runtime, finds no directory and fails by itself.
void Dumps::Job::leave_writer() {
  if (asked_ == nullptr) return;
  if (directory_->written() > 0) {
    dumps_.log_->warn(
        "{} (pid {}) still writes a cancelled dump: the agent cannot stop the process that writes it",
        runtime_.name, runtime_.pid);
    directory_->cut();
  }
  asked_->abort(*stopped_);
}

Result<OpenDump> Dumps::Job::take() {
  auto dump = directory_->open_dump();
  directory_.reset();
  // The runtime says that all is well, and has written nothing.
  if (!dump && writes_full_dumps_only()) {
    dump.error().hint = kOnlyFull;
  }
  if (!dump) return dump;
  // It may be sparse: larger than it is on the disk, and than what was expected.
  RETURN_IF_ERROR(router::check_limit(dumps_.settings_, runtime_.name, dump->size));
  progress_.total = dump->size;
  return dump;
}

Result<KeptDump> Dumps::Job::keep() {
  auto kept = directory_->keep_dump(runtime_.name + "-" + std::to_string(runtime_.pid));
  directory_.reset();
  return kept;
}

namespace {

using transport::Offload;

/// Negative levels are the fast ones: memory that is mostly zeros and repeats shrinks about as well with
/// them.
constexpr int kLevel = -3;
constexpr std::size_t kPieceSize = 256 * 1024;
/// The most bytes read for one piece, since data that compresses to nothing never fills it.
constexpr std::uint64_t kMaxReadPerPiece = 8 * 1024 * 1024;

struct Piece {
  std::vector<std::byte> bytes = std::vector<std::byte>(transport::kHeadroom + kPieceSize);
  std::size_t size = 0;
  std::uint64_t read = 0;  ///< How much of the dump has been read once this piece is full.
  bool last = false;
  std::optional<Error> error;

  [[nodiscard]] std::span<std::byte> space() { return std::span(bytes).subspan(transport::kHeadroom + size); }
  [[nodiscard]] transport::Chunk chunk() { return {bytes.data() + transport::kHeadroom, size, true}; }
};

/// Reads and compresses a dump. The thread pool has it fill one piece at a time.
class Source {
 public:
  Source(OpenDump dump, bool compress) : dump_(std::move(dump)) {
    ::posix_fadvise(dump_.fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    if (!compress) return;
    compressor_.emplace(kLevel);
    buffer_.resize(kReadSize);
  }

  void fill(Piece& piece) {
    piece.size = 0;
    const std::uint64_t begin = offset_;
    Result<void> filled;
    while (filled && !piece.last && !piece.space().empty() && offset_ - begin < kMaxReadPerPiece) {
      filled = compressor_ ? add_compressed(piece) : add_plain(piece);
    }
    piece.read = offset_;
    if (!filled) piece.error = filled.error();
  }

 private:
  Result<std::size_t> read(std::span<std::byte> into) {
    const std::uint64_t left = dump_.size - offset_;
    const std::size_t wanted = std::min<std::uint64_t>(into.size(), left);
    const ssize_t got = ::pread(dump_.fd.get(), into.data(), wanted, static_cast<off_t>(offset_));
    if (got < 0) return fail_errno("read", "the dump", errno);
    if (got == 0 && wanted > 0) return fail("read", "the dump", "the file was truncated meanwhile");
    offset_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }

  Result<void> add_plain(Piece& piece) {
    ASSIGN_OR_RETURN(const auto got, read(piece.space()));
    piece.size += got;
    piece.last = offset_ == dump_.size;
    return {};
  }

  Result<void> add_compressed(Piece& piece) {
    if (input_.empty() && offset_ < dump_.size) {
      ASSIGN_OR_RETURN(const auto got, read(buffer_));
      input_ = std::span(buffer_).first(got);
    }
    const bool last = offset_ == dump_.size;
    const auto then = last ? ZstdCompressor::Then::end : ZstdCompressor::Then::more;
    ASSIGN_OR_RETURN(const auto step, compressor_->step(input_, piece.space(), then));
    input_ = input_.subspan(step.taken);
    piece.size += step.made;
    piece.last = step.ended;
    return {};
  }

  OpenDump dump_;
  std::uint64_t offset_ = 0;
  std::optional<ZstdCompressor> compressor_;
  std::vector<std::byte> buffer_;
  std::span<const std::byte> input_;  ///< The part of the buffer that is not compressed yet.
};

std::unique_ptr<Offload> begin_fill(transport::Loop& loop, std::shared_ptr<Source> source,
                                    std::shared_ptr<Piece> piece) {
  return std::make_unique<Offload>(loop, [source, piece] { source->fill(*piece); });
}

}  // namespace

Task<Result<void>> send_dump(transport::Stream& to, OpenDump dump, bool compress,
                             std::function<void(std::uint64_t)> on_sent) {
  const auto source = std::make_shared<Source>(std::move(dump), compress);
  auto piece = std::make_shared<Piece>();
  auto other = std::make_shared<Piece>();
  auto work = begin_fill(to.loop(), source, piece);
  for (bool last = false; !last;) {
    co_await work->done();
    if (piece->error) co_return tl::unexpected(*piece->error);
    last = piece->last;
    const std::shared_ptr<Piece> ready = piece;
    if (!last) {
      std::swap(piece, other);
      work = begin_fill(to.loop(), source, piece);
    }
    IoStatus written = IoStatus::ok;
    if (last) {
      written = co_await to.write_last(ready->chunk());
    } else {
      written = co_await to.write(ready->chunk());
    }
    if (written != IoStatus::ok) co_return tl::unexpected(to.error());
    on_sent(ready->read);
  }
  co_return Result<void>{};
}

}  // namespace farport::router
