// Prints a recording's events as they come, on standard output or into a file.
#pragma once

#include <string>

#include "cli/reader_sink.hpp"
#include "config/settings.hpp"
#include "events/line_maker.hpp"
#include "nettrace/reader.hpp"

namespace farport::cli {

class EventLines : public RecordingSink {
 public:
  /// All must outlive this.
  EventLines(transport::Loop& loop, const config::RecordingSettings& settings, ipc::CollectTracing wanted,
             events::LineMaker& maker)
      : loop_(loop), settings_(settings), wanted_(std::move(wanted)), maker_(maker), reader_(maker) {}

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override;
  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) override;
  void discard() override { out_.reset(); }
  [[nodiscard]] Result<void> keep() override { return out_ == nullptr ? Result<void>() : out_->keep(); }

 protected:
  [[nodiscard]] Result<void> feed(const Piece& piece);
  /// Prints what the maker has.
  transport::Task<Result<void>> print_lines();

 private:
  transport::Loop& loop_;
  const config::RecordingSettings& settings_;
  ipc::CollectTracing wanted_;
  events::LineMaker& maker_;
  nettrace::Reader reader_;
  std::shared_ptr<RecordingFile> out_;
};

/// The lines that a reader makes.
class ReadLines : public ReaderSink {
 public:
  /// All must outlive this.
  ReadLines(transport::Loop& loop, const router::ReaderProcess& readers,
            const config::RecordingSettings& settings, ipc::CollectTracing wanted)
      : ReaderSink(loop, readers), settings_(settings), wanted_(std::move(wanted)) {}

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override;
  transport::Task<void> broke_off() override;

 private:
  const config::RecordingSettings& settings_;
  ipc::CollectTracing wanted_;
};

/// "12:00:00.123", in local time.
[[nodiscard]] std::string clock_of(std::chrono::sys_time<std::chrono::microseconds> time);

}  // namespace farport::cli
