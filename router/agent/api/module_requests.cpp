#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "router/agent/api/api.hpp"
#include "router/agent/api/sending.hpp"
#include "router/agent/gate/gate.hpp"
#include "router/stream/relay.hpp"
#include "router/wire/http_status.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::Io;
using transport::IoStatus;
using transport::Task;

/// Archives that are sent at once. Each is compressed.
constexpr std::size_t kMaxArchives = 4;
/// Sending all modules takes a minute on a slow network.
constexpr int kUntilArchiveEnds = 60;

/// A function of its own: GCC 12 destroys the elements of an initializer list twice in a coroutine.
void begin_archive(Answer& answer, bool compress) {
  transport::HeaderFields fields{{"content-type", "application/x-tar"}};
  if (compress) add_zstd(fields);
  answer.begin(std::move(fields));
}

/// Sends an archive to the caller. What follows its last byte says that it is whole, and is not sent.
Task<Result<void>> send_archive(transport::Stream& from, transport::Stream& caller, std::uint64_t& sent) {
  constexpr std::size_t kArchivePiece = 16 * 1024;
  std::vector<char> piece(1 + kArchivePiece);
  std::size_t held = 0;
  for (;;) {
    const Io got = co_await from.read(std::as_writable_bytes(std::span(piece).subspan(held)));
    if (got.status == IoStatus::failed) co_return tl::unexpected(from.error());
    if (got.status == IoStatus::end) break;
    const std::size_t ready = held + got.bytes - 1;
    IoStatus written = IoStatus::ok;
    if (ready > 0) written = co_await caller.write(std::as_bytes(std::span(piece).first(ready)));
    if (written != IoStatus::ok) co_return tl::unexpected(caller.error());
    sent += ready;
    piece.front() = piece[ready];
    held = 1;
  }
  if (held == 0 || piece.front() != kArchiveIsWhole)
    co_return fail("send", "the modules", "one of them could not be read to its end");
  const IoStatus finished = co_await caller.finish();
  if (finished != IoStatus::ok) co_return tl::unexpected(caller.error());
  co_return Result<void>();
}

}  // namespace

ModuleRequests::ModuleRequests(transport::Loop& loop, Registry& registry,
                               std::shared_ptr<const SamplerProcess> sampler, Audit& audit,
                               Compression compression)
    : loop_(loop),
      registry_(registry),
      sampler_(std::move(sampler)),
      audit_(audit),
      compression_(compression),
      compressors_(kMaxArchives),
      places_(kMaxArchives, "sends", "archive of modules") {}

Handled ModuleRequests::take(Answer& answer, Route route, const Caller& caller,
                             tl::expected<RuntimePtr, Refusal> runtime) {
  AuditEntry entry{"modules", caller};
  entry.command = "modules";
  const AuditOnExit audited(audit_, entry, AuditOnExit::Clock::now());
  // A debugger needs them for a dump, which has more of the application than they have.
  std::optional<Refusal> refused = decide(entry, runtime, authorize_dump);
  if (!refused) refused = co_await send(answer, std::move(route), *runtime, entry);
  if (refused) entry.outcome = {entry.allowed ? Outcome::Kind::failed : Outcome::Kind::refused, refused->why};
  co_return refused;
}

Handled ModuleRequests::send(Answer& answer, Route route, RuntimePtr runtime, AuditEntry& entry) {
  ModulesRequest wanted;
  wanted.all = route.parameter("all") == "true";
  entry.arguments = wanted.all ? R"({"all":true})" : R"({"all":false})";
  if (runtime->native)
    co_return not_sent(
        http_status::kNotFound,
        runtime->name + " is compiled ahead of time: a debugger needs its program and .dbg alone");
  const auto place = places_.take(entry.caller, runtime->user);
  if (!place) {
    Refusal many = not_sent(http_status::kTooManyRequests, place.error());
    many.retry_after = kUntilArchiveEnds;
    co_return many;
  }
  const auto work = SamplerWork::ask(loop_, registry_, sampler_.get(), *runtime, wanted);
  if (!work) co_return not_sampled(work.error());
  const Result<void> begun = co_await (*work)->begin(runtime->name);
  if (!begun) co_return not_sampled(begun.error());
  const bool compress = wants_zstd(answer.request(), compression_);
  begin_archive(answer, compress);
  transport::Stream& caller = answer.passed_on();
  const auto guard = abort_when_gone(caller, (*work)->stream());
  Result<void> sent;
  if (compress) {
    CompressingStream compressing(caller, Compression::always, compressors_);
    sent = co_await send_archive((*work)->stream(), compressing, entry.to_tool);
  } else {
    sent = co_await send_archive((*work)->stream(), caller, entry.to_tool);
  }
  note_outcome(sent, answer, entry);
  co_return std::nullopt;
}

}  // namespace farport::router
