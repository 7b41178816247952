#include "router/mirror/dump_receiver.hpp"

#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/output_file.hpp"
#include "base/text.hpp"
#include "ipc/message.hpp"
#include "ipc/payload.hpp"
#include "router/mirror/agent_session.hpp"
#include "router/mirror/resumable_request.hpp"
#include "router/wire/dump.hpp"
#include "router/wire/http_status.hpp"
#include "router/wire/session_options.hpp"
#include "transport/offload.hpp"
#include "transport/race.hpp"
#include "transport/timer.hpp"

namespace farport::router {
namespace {

constexpr std::size_t kBufferSize = 512 * 1024;

}  // namespace

DumpSink::DumpSink(std::unique_ptr<OutputFile> file, std::uint64_t expected, bool compressed)
    : file_(std::move(file)), expected_(expected) {
  if (!compressed) return;
  decompressor_.emplace();
  buffer_.resize(kBufferSize);
}

void DumpSink::take(std::span<const std::byte> piece) {
  if (failure_) return;
  const Result<void> taken = decompressor_ ? decompress(piece) : append(piece);
  if (!taken) failure_ = taken.error();
}

void DumpSink::commit() {
  if (failure_) return;
  const Result<void> committed = check_and_commit();
  if (!committed) failure_ = committed.error();
}

Result<void> DumpSink::check_and_commit() {
  if (file_->size() != expected_ || (decompressor_ && !frame_ended_)) {
    return fail("receive", "the dump",
                "the agent sent " + std::to_string(file_->size()) + " of its " + std::to_string(expected_) +
                    " bytes");
  }
  return file_->keep();
}

/// Limits the file to the announced size, so that an agent can't fill the disk.
Result<void> DumpSink::append(std::span<const std::byte> bytes) {
  if (bytes.size() > expected_ - file_->size()) {
    return fail("receive", "the dump",
                "the agent sends more than the " + std::to_string(expected_) + " bytes that it announced");
  }
  return file_->append(bytes);
}

Result<void> DumpSink::decompress(std::span<const std::byte> bytes) {
  // Runs once more if the output was full, since the decompressor may hold more.
  for (bool full = false; !bytes.empty() || full;) {
    if (frame_ended_) return fail("receive", "the dump", "the agent sent data after its end");
    ASSIGN_OR_RETURN(const auto step, decompressor_->step(bytes, buffer_));
    bytes = bytes.subspan(step.taken);
    frame_ended_ = step.ended;
    full = step.made == buffer_.size() && !frame_ended_;
    RETURN_IF_ERROR(append(std::span(buffer_).first(step.made)));
  }
  return {};
}

namespace {

using transport::Io;
using transport::IoStatus;
using transport::Offload;
using transport::Task;

constexpr transport::Milliseconds kAskAgain{500};
/// How long a dump waits for the modules beside it: some MB, and what may be a few hundred.
constexpr transport::Milliseconds kLongestForNeeded{30'000};
constexpr transport::Milliseconds kLongestForAll{20 * 60'000};
/// Limit for what an agent says of a dump's progress and place.
constexpr std::size_t kMaxProgress = 64 * 1024;
constexpr std::size_t kPieceSize = 512 * 1024;

struct Piece {
  std::vector<std::byte> bytes = std::vector<std::byte>(kPieceSize);
  std::size_t size = 0;
};

std::unique_ptr<Offload> begin_take(transport::Loop& loop, std::shared_ptr<DumpSink> sink,
                                    std::shared_ptr<Piece> piece) {
  return std::make_unique<Offload>(loop,
                                   [sink, piece] { sink->take(std::span(piece->bytes).first(piece->size)); });
}

std::unique_ptr<Offload> begin_commit(transport::Loop& loop, std::shared_ptr<DumpSink> sink) {
  return std::make_unique<Offload>(loop, [sink] { sink->commit(); });
}

/// Fills the piece with available bytes; waits for at least one unless the stream is over.
Task<IoStatus> read_piece(transport::Stream& from, std::shared_ptr<Piece> piece) {
  piece->size = 0;
  const Io first = co_await from.read(piece->bytes);
  Io io = first;
  while (io.status == IoStatus::ok) {
    piece->size += io.bytes;
    if (piece->size == piece->bytes.size()) break;
    io = from.try_read(std::span(piece->bytes).subspan(piece->size));
  }
  co_return first.status;
}

Task<Result<void>> receive_body(transport::Stream& answer, std::shared_ptr<DumpSink> sink,
                                DumpProgress& progress, const OnDumpProgress& on_progress) {
  auto piece = std::make_shared<Piece>();
  auto other = std::make_shared<Piece>();
  std::unique_ptr<Offload> work;
  for (;;) {
    const IoStatus status = co_await read_piece(answer, piece);
    if (work != nullptr) co_await work->done();
    if (sink->failure()) co_return tl::unexpected(*sink->failure());
    if (status == IoStatus::failed) co_return tl::unexpected(answer.error());
    progress.sent = sink->size();
    on_progress(progress);
    if (status == IoStatus::end) co_return Result<void>{};
    work = begin_take(answer.loop(), sink, piece);
    std::swap(piece, other);
  }
}

std::string path_of(const std::string& runtime_id) {
  return "/v1/runtimes/" + runtime_id + "/dump";
}

std::string query_of(const DumpRequest& request) {
  return "?type=" + std::string(ipc::name_of(request.type)) + "&flags=" + std::to_string(request.flags) +
         (request.anyway ? "&anyway=true" : "");
}

/// Polls the dump's progress until it is cancelled.
Task<void> follow_writing(SessionManager& sessions, std::string runtime_id, DumpProgress& progress,
                          const OnDumpProgress& on_progress) {
  for (;;) {
    co_await transport::sleep(sessions.loop(), kAskAgain);
    const std::shared_ptr<AgentSession> session = sessions.session();
    const auto answer = session == nullptr ? nullptr : session->request("GET", path_of(runtime_id), false);
    if (answer == nullptr) continue;
    const auto body = co_await read_answer(*answer, kMaxProgress);
    const auto read = body ? dump_progress_from_json(*body) : tl::unexpected(body.error());
    if (!read) continue;
    progress = *read;
    on_progress(progress);
  }
}

std::unique_ptr<ResumableRequest> post(SessionManager& sessions, const std::string& target) {
  return std::make_unique<ResumableRequest>(sessions, target, accepted_encodings(sessions.options()));
}

/// Waits for the answer's head, and reports the dump's progress meanwhile.
Task<Result<void>> until_written(SessionManager& sessions, ResumableRequest& request, std::string runtime_id,
                                 DumpProgress& progress, const OnDumpProgress& on_progress) {
  Task<void> following = follow_writing(sessions, runtime_id, progress, on_progress);
  following.start();
  const IoStatus head = co_await request.head_received();
  if (head != IoStatus::ok) co_return tl::unexpected(request.stream().error());
  if (request.head().status == http_status::kOk) co_return Result<void>{};
  const auto refused = co_await read_body(request.head(), request.stream());
  co_return tl::unexpected(refused.error());
}

Result<std::uint64_t> size_of(const transport::MessageHead& head) {
  const auto size = number_in<std::uint64_t>(head.field("farport-dump-size"));
  if (!size) return fail("receive", "the dump", "the agent does not report its size");
  return *size;
}

/// Returns the dump's size in bytes.
Task<Result<std::uint64_t>> receive_file(SessionManager& sessions, std::string runtime_id, DumpRequest wanted,
                                         std::string path, OnDumpProgress on_progress) {
  // Created first: without a file, the runtime would write the dump for nothing.
  CO_ASSIGN_OR_RETURN(auto file, OutputFile::create("the dump", path, OutputFile::Existing::replace,
                                                    OutputFile::Named::on_commit));
  const auto request = post(sessions, path_of(runtime_id) + query_of(wanted));
  DumpProgress progress;
  CO_RETURN_IF_ERROR(co_await until_written(sessions, *request, runtime_id, progress, on_progress));
  CO_ASSIGN_OR_RETURN(const auto size, size_of(request->head()));
  CO_RETURN_IF_ERROR(file->check_space(size));
  progress.phase = DumpProgress::Phase::sending;
  progress.total = size;
  const bool compressed = is_zstd(request->head());
  const auto sink = std::make_shared<DumpSink>(std::move(file), size, compressed);
  CO_RETURN_IF_ERROR(co_await receive_body(request->stream(), sink, progress, on_progress));
  const auto committing = begin_commit(sessions.loop(), sink);
  co_await committing->done();
  if (sink->failure()) co_return tl::unexpected(*sink->failure());
  co_return size;
}

/// The archive for this directory, if that could be made.
Task<Result<UniqueFd>> archive_for(SessionManager& sessions, std::string runtime_id, WantedModules wanted,
                                   std::string directory, OutputFile::Existing existing) {
  CO_RETURN_IF_ERROR(check_place_for_modules(directory, existing));
  auto got = co_await receive_modules(sessions, runtime_id, wanted, directory_of(directory));
  co_return got;
}

}  // namespace

Task<DumpModules> receive_dump_modules(SessionManager& sessions, std::string runtime_id, WantedModules wanted,
                                       std::string dump, OutputFile::Existing existing) {
  DumpModules modules;
  modules.directory = modules_beside(dump);
  modules.existing = existing;
  if (wanted == WantedModules::none) co_return modules;
  auto got = co_await transport::with_deadline(
      sessions.loop(), archive_for(sessions, runtime_id, wanted, modules.directory, existing),
      wanted == WantedModules::all ? kLongestForAll : kLongestForNeeded);
  if (got && *got) modules.archive = std::move(**got);
  if (got && !*got) modules.without = std::move(got->error());
  if (!got) modules.without = Error{"receive", "the runtime's modules", "they take too long"};
  co_return modules;
}

Task<Result<ReceivedDump>> receive_dump(SessionManager& sessions, std::string runtime_id, DumpRequest wanted,
                                        DumpModules modules, std::string path, OnDumpProgress on_progress) {
  ReceivedDump received;
  CO_ASSIGN_OR_RETURN(received.bytes,
                      co_await receive_file(sessions, runtime_id, wanted, path, std::move(on_progress)));
  received.without = modules.without;
  if (!modules.archive) co_return received;
  const auto unpacked = std::make_shared<const DumpModules>(std::move(modules));
  std::function<Result<void>()> unpack = [unpacked] {
    return unpack_modules(unpacked->archive.get(), unpacked->directory, unpacked->existing);
  };
  const Result<void> done = co_await transport::offloaded(sessions.loop(), std::move(unpack));
  if (done) received.modules = unpacked->directory;
  if (!done) received.without = done.error();
  co_return received;
}

Task<Result<std::string>> leave_dump(SessionManager& sessions, std::string runtime_id, DumpRequest wanted,
                                     OnDumpProgress on_progress) {
  const auto request = post(sessions, path_of(runtime_id) + query_of(wanted) + "&stay=true");
  DumpProgress progress;
  CO_RETURN_IF_ERROR(co_await until_written(sessions, *request, runtime_id, progress, on_progress));
  CO_ASSIGN_OR_RETURN(const auto body, co_await read_body(request->head(), request->stream(), kMaxProgress));
  co_return kept_dump_from_json(body);
}

namespace {

Task<Result<ReceivedDump>> receive_for_tool(SessionManager& sessions, std::string runtime_id,
                                            ipc::GenerateCoreDump command, OnDumpProgress on_progress) {
  const bool has_heap = command.type == ipc::DumpType::with_heap || command.type == ipc::DumpType::full;
  DumpModules modules = co_await receive_dump_modules(sessions, runtime_id,
                                                      has_heap ? WantedModules::needed : WantedModules::none,
                                                      command.path, OutputFile::Existing::replace);
  const DumpRequest wanted{command.type, command.flags, false};
  auto received = co_await receive_dump(sessions, runtime_id, wanted, std::move(modules), command.path,
                                        std::move(on_progress));
  co_return received;
}

}  // namespace

Task<Result<void>> take_dump_for_tool(Log log, SessionManager& sessions, const Runtime& runtime,
                                      transport::Stream& tool, FirstMessage first, OnDumpProgress on_progress,
                                      std::function<void()> on_taken) {
  const auto command = ipc::GenerateCoreDump::decode(first.payload());
  if (!command || !command->path.starts_with('/')) {
    const Error wrong{"take the dump to",
                      command ? command->path : "a path",
                      "the path must be absolute",
                      {},
                      Cause::runtime(ipc::hresult::kInvalidArgument)};
    co_return tl::unexpected(command ? wrong : command.error());
  }
  log->info("taking a {} dump of {} (pid {}) to {}", ipc::name_of(command->type), runtime.name, runtime.pid,
            command->path);
  if ((command->flags & ipc::dump_flag::kCrashReport) != 0) {
    log->warn("the tool asked for a crash report, which is not transferred: only the dump is written to {}",
              command->path);
  }
  Task<Result<ReceivedDump>> receiving =
      receive_for_tool(sessions, runtime.id, *command, std::move(on_progress));
  const auto received = co_await first_of(std::move(receiving), tool.gone());
  on_taken();
  if (!received) {
    log->warn("the dump of {} is cancelled: its tool is gone", runtime.name);
    co_return Result<void>{};
  }
  if (!*received) co_return tl::unexpected(received->error());
  const ReceivedDump& dump = **received;
  log->info("the dump of {} is at {}: {} bytes", runtime.name, command->path, dump.bytes);
  if (!dump.modules.empty())
    log->info("farport open {} opens it: what a debugger needs is in {}", command->path, dump.modules);
  if (dump.without)
    log->info("a debugger elsewhere may lack the runtime's modules: {}", dump.without->message());
  const ipc::Bytes ok = ipc::encode_ok();
  const IoStatus told = co_await tool.write(ok);
  if (told == IoStatus::ok) std::ignore = co_await tool.finish();
  co_return Result<void>{};
}

}  // namespace farport::router
