#include "cli/output/reader_sink.hpp"

#include <span>
#include <utility>

#include "base/escape.hpp"
#include "cli/terminal/table.hpp"

namespace farport::cli {
namespace {

using router::ReaderFrame;
using transport::Task;

/// Escapes the lines for a terminal, since a runtime may have taken over the reader that made them.
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

ReaderSink::ReaderSink(transport::Loop& loop, const router::ReaderProcess& readers, OutputFile* file)
    : loop_(loop), readers_(readers), file_(file), taking_(loop) {}

Result<void> ReaderSink::begin_printing(std::string about) {
  ASSIGN_OR_RETURN(auto output, RecordingFile::standard_output());
  return begin_reading(std::move(about), std::move(output));
}

Result<void> ReaderSink::begin_reading(std::string about, std::shared_ptr<RecordingFile> lines) {
  lines_ = std::move(lines);
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

Result<void> ReaderSink::keep() {
  // There are no lines, or the reader failed without any output.
  if (lines_ == nullptr || (answered_ && !*answered_ && !any_)) return {};
  return lines_->keep();
}

Task<void> ReaderSink::take_frames() {
  while (!answered_) {
    auto frame = co_await reading_->next();
    if (answered_) co_return;
    if (!frame) {
      give_up(frame.error());
    } else if (frame->kind != ReaderFrame::end) {
      const Result<void> taken = co_await take_frame(std::move(*frame));
      if (!taken) give_up(taken.error());
    } else if (finished_) {
      answered_.emplace();
    } else {
      give_up({"read",
               "what the runtime says",
               "its reader process exited before the end of the runtime's data",
               {}});
    }
  }
}

void ReaderSink::give_up(const Error& why) {
  if (answered_) return;
  answered_ = tl::unexpected(why);
  // Ends a take() that waits for the reader.
  reading_->abort(why);
  take_failure(why);
}

Task<Result<void>> ReaderSink::take_frame(router::Reading::Frame frame) {
  Result<void> taken;
  any_ = any_ || frame.kind != ReaderFrame::notice;
  if (frame.kind == ReaderFrame::enough) {
    has_enough();
  } else if (frame.kind == ReaderFrame::notice) {
    print_notice(frame.text);
  } else if (frame.kind == ReaderFrame::lines) {
    if (lines_ != nullptr && lines_->is_terminal()) frame.text = visible(frame.text);
    taken = co_await append(std::move(frame.text));
  } else if (frame.kind == ReaderFrame::file) {
    taken = take_file(frame.text);
  } else {
    take_part(frame);
  }
  co_return taken;
}

Result<void> ReaderSink::take_file(std::string_view part) {
  if (file_ == nullptr || made_file_) return {};
  made_file_ = part.empty();
  return file_->append(std::as_bytes(std::span(part)));
}

void ReaderSink::print_notice(const std::string& notice) {
  const auto now = std::chrono::steady_clock::now();
  if (now - notices_since_ > std::chrono::seconds(1)) {
    notices_since_ = now;
    notices_ = 0;
  }
  if (++notices_ <= router::kMaxNotices) print_message(notice);
}

Task<Result<void>> ReaderSink::append(std::string lines) {
  if (lines_ == nullptr) co_return Result<void>();
  auto appended = co_await lines_->append(loop_, piece_of(lines));
  co_return appended;
}

}  // namespace farport::cli
