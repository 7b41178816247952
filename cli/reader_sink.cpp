#include "cli/reader_sink.hpp"

#include <cstdlib>

#include "base/escape.hpp"
#include "cli/text.hpp"
#include "confinement/confinement.hpp"
#include "router/agent/readers/answers.hpp"

namespace farport::cli {
namespace {

using router::ReaderFrame;
using transport::Task;

/// Lines that no terminal obeys, though a runtime has taken over who has made them.
std::string visible(std::string_view lines) {
  std::string all;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    escape_into(all, lines.substr(0, end));
    if (end == std::string_view::npos) break;
    all += '\n';
    lines.remove_prefix(end + 1);
  }
  return all;
}

}  // namespace

Result<router::ReaderProcess> start_readers(router::ReaderWork work) {
  const char* const mode = std::getenv("FARPORT_CONFINE");
  const bool confined = mode == nullptr || std::string_view(mode) != "off";
  router::ReaderProcess::GivenUp given_up;
  given_up.secrets = [] {};
  given_up.rights = [confined] {
    if (confined) confinement::confine_reader_starter();
  };
  given_up.rights_of_reader = [confined] { return !confined || confinement::confine_parser(); };
  return router::ReaderProcess::start(
      std::move(given_up), [work = std::move(work)](const auto& wanted, auto& from, auto& to) {
        const bool names = wanted.kind == router::ReadingTask::Kind::methods;
        return names ? router::tell_methods(from, to) : work(wanted, from, to);
      });
}

ReaderSink::ReaderSink(transport::Loop& loop, const router::ReaderProcess& readers)
    : loop_(loop), readers_(readers), taking_(loop) {}

Result<void> ReaderSink::begin_reading(std::string about, std::shared_ptr<RecordingFile> lines,
                                       OutputFile* file) {
  lines_ = std::move(lines);
  file_ = file;
  reading_.emplace(loop_, router::local_request(router::ReadingTask::Kind::local, std::move(about)),
                   router::Reading::For::user);
  Result<void> begun = reading_->begin(readers_);
  if (begun) taking_.spawn(take_frames());
  return begun;
}

Task<Result<void>> ReaderSink::take(std::shared_ptr<const Piece> piece) {
  if (!answered_) {
    const auto passed = co_await reading_->write(std::span(piece->bytes).first(piece->size));
    if (passed != transport::IoStatus::ok) co_await taking_.idle();
  }
  co_return answered_.value_or(Result<void>());
}

Task<Result<void>> ReaderSink::finish() {
  if (!reading_) co_return Result<void>();
  if (!std::exchange(finished_, true)) co_await reading_->finish();
  co_await taking_.idle();
  co_return answered_.value_or(Result<void>());
}

Task<void> ReaderSink::take_frames() {
  while (!answered_) {
    auto frame = co_await reading_->next();
    if (!frame) {
      answered_ = tl::unexpected(frame.error());
    } else if (frame->kind == ReaderFrame::end) {
      answered_.emplace();
    } else if (auto taken = co_await take_frame(std::move(*frame)); !taken) {
      answered_ = taken;
    }
  }
  if (!*answered_) take_failure(answered_->error());
}

Task<Result<void>> ReaderSink::take_frame(router::Reading::Frame frame) {
  Result<void> taken;
  any_ = any_ || frame.kind != ReaderFrame::notice;
  if (frame.kind == ReaderFrame::enough) {
    said_enough_ = true;
    has_enough();
  } else if (frame.kind == ReaderFrame::notice) {
    print_message(escape(frame.text));
  } else if (frame.kind == ReaderFrame::lines) {
    if (lines_ != nullptr && lines_->is_terminal()) frame.text = visible(frame.text);
    taken = co_await append(std::move(frame.text));
  } else if (frame.kind == ReaderFrame::file) {
    if (file_ != nullptr) taken = file_->append(std::as_bytes(std::span(frame.text)));
  } else {
    take_part(frame);
  }
  co_return taken;
}

Task<Result<void>> ReaderSink::append(std::string lines) {
  if (lines_ == nullptr) co_return Result<void>();
  const auto piece = std::make_shared<Piece>();
  const auto bytes = std::as_bytes(std::span(lines));
  piece->bytes.assign(bytes.begin(), bytes.end());
  piece->size = bytes.size();
  auto appended = co_await lines_->append(loop_, piece);
  co_return appended;
}

}  // namespace farport::cli
