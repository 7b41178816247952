#include "router/dump.hpp"

#include <cerrno>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <sys/stat.h>

#include "ipc/error.hpp"
#include "router/dump_writer.hpp"
#include "router/gate.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

constexpr transport::Milliseconds kLook{200};
/// How often, and how many times, a runtime is looked at whose writer has been killed.
constexpr transport::Milliseconds kLookAtEnd{10};
constexpr int kLooksAtEnd = 10;

/// The newest first: each knows more than the one before it.
constexpr std::array kCommands{ipc::kGenerateCoreDump3, ipc::kGenerateCoreDump2, ipc::kGenerateCoreDump};

std::string mebibytes(std::uint64_t bytes) {
  return fmt::format("{} MiB", bytes >> 20);
}

}  // namespace

std::string describe(const DumpProgress& progress) {
  if (progress.phase == DumpProgress::Phase::sending) {
    return fmt::format("sent {} of {}", progress.sent >> 20, mebibytes(progress.total));
  }
  const std::string written = fmt::format("written {}", progress.written >> 20);
  return progress.estimate ? written + " of about " + mebibytes(*progress.estimate) : written + " MiB";
}

Result<std::unique_ptr<Dumps::Job>> Dumps::start(const Runtime& runtime, DumpRequest request) {
  if (jobs_.contains(runtime.id)) {
    return tl::unexpected(Error{"take a dump of", runtime.name, "another dump of it is under way",
                                "wait until that one has ended", EBUSY});
  }
  const RuntimePort* port = registry_.port(runtime.id);
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
    if (event->kind == RuntimeEvent::Kind::added) clean(event->runtime);
  }
}

void Dumps::clean(const Runtime& runtime) {
  const RuntimePort* port = registry_.port(runtime.id);
  if (port == nullptr) return;
  const auto shared = find_shared_directory(settings_, port->process(), port->path());
  if (shared) remove_abandoned_dumps(*shared, port->process().uid, log_);
}

Dumps::Job::Job(Dumps& dumps, Runtime runtime, DumpRequest request)
    : dumps_(dumps), runtime_(std::move(runtime)), request_(request) {
  dumps_.jobs_.emplace(runtime_.id, this);
}

Dumps::Job::~Job() {
  dumps_.jobs_.erase(runtime_.id);
  // Only while it is being written; what has been taken or kept has no directory any more.
  if (directory_ == nullptr || !stop_dump_writer(process_, directory_->path_for_runtime())) return;
  // Nobody looks after the runtime later on.
  for (int look = 0; look < kLooksAtEnd; ++look) {
    std::this_thread::sleep_for(kLookAtEnd);
    wake_stopped(process_);
  }
}

Result<void> Dumps::Job::prepare(const RuntimePort& port) {
  const transport::PeerCredentials process = port.process();
  auto shared = find_shared_directory(dumps_.settings_, process, port.path());
  if (!shared) return tl::unexpected(shared.error());
  const std::string warning = warn_of_strangers(*shared);
  if (!warning.empty()) dumps_.log_->warn("{}", warning);
  auto directory = DumpDirectory::make(std::move(*shared), process.uid);
  if (!directory) return tl::unexpected(directory.error());
  directory_ = std::move(*directory);
  process_ = process.pid;
  progress_.estimate = estimate_dump(process_, request_.type);
  return check_space(progress_.estimate.value_or(0));
}

Result<void> Dumps::Job::check_space(std::uint64_t more) const {
  const std::uint64_t free = directory_->free_bytes();
  const std::uint64_t keep = dumps_.settings_.keep_free_bytes;
  if (free < keep || free - keep < more) {
    return fail("take a dump of", runtime_.name,
                "there is too little space in " + directory_->path_for_runtime() + ": " + mebibytes(free) +
                    " are free, the dump may take " + mebibytes(more) + ", and " + mebibytes(keep) +
                    " are to stay free",
                "set [dump] directory to a larger file system");
  }
  const std::uint64_t most = dumps_.settings_.max_bytes;
  if (std::max(more, progress_.written) > most) {
    return fail("take a dump of", runtime_.name, "it would be larger than the limit of " + mebibytes(most),
                "take a smaller --type, or raise [dump] max_size");
  }
  return {};
}

Task<Result<void>> Dumps::Job::write() {
  const RuntimePort* port = dumps_.registry_.port(runtime_.id);
  if (port == nullptr) co_return fail("take a dump of", runtime_.name, "it has ended");
  const Result<void> prepared = prepare(*port);
  if (!prepared) co_return prepared;
  Task<void> watching = watch();
  watching.start();
  const Answer answer = co_await ask();
  if (writer_killed_) co_await let_go();
  if (stopped_) co_return tl::unexpected(*stopped_);
  if (!answer) co_return tl::unexpected(answer.error());
  progress_.written = directory_->written();
  if (ipc::is_ok(*answer)) co_return Result<void>{};
  const auto refused = ipc::decode_error(*answer);
  if (!refused) co_return tl::unexpected(refused.error());
  co_return tl::unexpected(refused_by_runtime(*refused));
}

Error Dumps::Job::refused_by_runtime(const ipc::ErrorAnswer& answer) const {
  Error why{"take a dump of", runtime_.name, answer.message(), {}, static_cast<int>(answer.hresult)};
  if (runtime_.state == RuntimeState::suspended && request_.type != ipc::DumpType::full) {
    why.hint = "a suspended runtime writes only full dumps: take one of type full, or let it run first";
    return why;
  }
  // createdump's words for it.
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
  for (const ipc::Command command : kCommands) {
    Answer answer = co_await ask_with(command);
    if (!answer || stopped_) co_return answer;
    const auto refused = ipc::decode_error(*answer);
    if (!refused || refused->hresult != ipc::hresult::kUnknownCommand) co_return answer;
  }
  co_return fail("take a dump of", runtime_.name, "its runtime knows none of the commands for it");
}

Task<Dumps::Job::Answer> Dumps::Job::ask_with(ipc::Command command) {
  RuntimePort* port = dumps_.registry_.port(runtime_.id);
  if (port == nullptr) co_return fail("take a dump of", runtime_.name, "it has ended");
  const auto connection = co_await port->open();
  if (!connection) co_return tl::unexpected(connection.error());
  if (stopped_) co_return tl::unexpected(*stopped_);
  ipc::GenerateCoreDump question;
  question.path = directory_->path_for_runtime();
  question.type = request_.type;
  // The oldest command knows only one of the flags.
  question.flags =
      command == ipc::kGenerateCoreDump ? request_.flags & ipc::dump_flag::kLogging : request_.flags;
  const auto message = ipc::encode_message(ipc::make_message(command, question.encode()));
  if (!message) co_return tl::unexpected(message.error());
  const IoStatus written = co_await (*connection)->write(*message);
  if (written != IoStatus::ok) co_return tl::unexpected((*connection)->error());
  asked_ = connection->get();
  const auto answer = co_await read_first_message(**connection);
  asked_ = nullptr;
  if (!answer) {
    co_return fail("take a dump of", runtime_.name, "the runtime has ended or broken off while writing it");
  }
  co_return ipc::decode_message(answer->bytes);
}

Task<void> Dumps::Job::watch() {
  for (;;) {
    co_await transport::sleep(dumps_.loop_, kLook);
    progress_.written = directory_->written();
    const Result<void> enough = check_space(0);
    if (!enough) stop(enough.error());
    // The writer may not have been there yet the first time.
    if (stopped_) end_writing();
    if (writer_killed_) wake_stopped(process_);
  }
}

/// The runtime may answer just before it is stopped.
Task<void> Dumps::Job::let_go() {
  for (int look = 0; look < kLooksAtEnd; ++look) {
    co_await transport::sleep(dumps_.loop_, kLookAtEnd);
    wake_stopped(process_);
  }
}

void Dumps::Job::stop(Error why) {
  if (!stopped_) stopped_ = std::move(why);
  if (directory_ != nullptr) end_writing();
}

void Dumps::Job::end_writing() {
  if (stop_dump_writer(process_, directory_->path_for_runtime())) {
    writer_killed_ = true;
    return;
  }
  // A runtime that has not begun may never do so, as one that is frozen: when it comes to the command, the
  // directory is gone, and it fails by itself.
  if (directory_->written() == 0 && asked_ != nullptr) asked_->abort(*stopped_);
}

Result<OpenDump> Dumps::Job::take() {
  auto dump = directory_->open_dump();
  directory_.reset();
  if (dump) progress_.total = dump->size;
  return dump;
}

Result<DumpDirectory::Kept> Dumps::Job::keep() {
  auto kept = directory_->keep_dump(runtime_.name + "-" + std::to_string(runtime_.pid));
  directory_.reset();
  return kept;
}

}  // namespace farport::router
