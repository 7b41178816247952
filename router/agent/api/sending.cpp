#include "router/agent/api/sending.hpp"

#include <cerrno>

#include "transport/offload.hpp"

namespace farport::router {

using transport::IoStatus;
using transport::Task;

Refusal not_sent(int status, std::string why) {
  return {status, http_status::hresult_of(Cause::http(status)), std::move(why)};
}

Refusal not_sampled(const Error& why) {
  const int status = why.cause == ENOTSUP ? http_status::kNotImplemented : http_status::kBadGateway;
  return not_sent(status, why.message());
}

Refusal keeps_nothing() {
  return not_sent(http_status::kNotFound,
                  "this agent keeps nothing: start it with farport serve --artifacts DIR");
}

NextPiece pieces_of_file(transport::Loop& loop, const FilePlace& /*place*/,
                         std::shared_ptr<const UniqueFd> file, CompressedFileReader::CutOff cut_off) {
  // One file is read after the other, so each gets its reader when its turn comes.
  const auto reader = std::make_shared<std::optional<CompressedFileReader>>();
  const std::function<Result<std::vector<std::byte>>()> read = [reader, file = std::move(file), cut_off] {
    if (!*reader) reader->emplace(file, cut_off);
    return (*reader)->next();
  };
  return [&loop, read] { return transport::offloaded(loop, read); };
}

Task<Result<void>> send_all(NextPiece next, Answer& answer, std::uint64_t& sent) {
  transport::Stream& caller = answer.passed_on();
  for (;;) {
    CO_ASSIGN_OR_RETURN(const auto piece, co_await next());
    IoStatus written = IoStatus::ok;
    if (piece.empty()) {
      written = co_await caller.finish();
    } else {
      written = co_await caller.write(piece);
    }
    if (written != IoStatus::ok) co_return tl::unexpected(caller.error());
    if (piece.empty()) co_return Result<void>();
    sent += piece.size();
  }
}

void note_outcome(const Result<void>& sent, Answer& answer, AuditEntry& entry) {
  entry.outcome = {};
  if (sent) return;
  entry.outcome = {Outcome::Kind::broken_off, sent.error().message()};
  answer.abort(sent.error());
}

}  // namespace farport::router
