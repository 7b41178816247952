// ReaderSink: a recording that a reader process reads, whose output is printed or kept.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/output_file.hpp"
#include "cli/output/recording_sink.hpp"
#include "router/readers/reading.hpp"

namespace farport::cli {

/// Passes what a runtime sends to a reader, and prints or stores what the reader returns. Readers come from
/// start_readers() (cli/setup/helpers.hpp).
class ReaderSink : public RecordingSink {
 public:
  /// All arguments must outlive this. `file`: receives the file that the reader makes beside its lines; null
  /// if it makes none.
  ReaderSink(transport::Loop& loop, const router::ReaderProcess& readers, OutputFile* file = nullptr);

  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) final;
  /// Waits until the reader has returned everything.
  transport::Task<Result<void>> finish() override;
  void discard() override { lines_.reset(); }
  /// Keeps the file that the lines went to, if any.
  [[nodiscard]] Result<void> keep() override;
  /// Whether the reader has returned any output.
  [[nodiscard]] bool any() const { return any_; }
  /// Whether the reader's file is complete.
  [[nodiscard]] bool made_file() const { return made_file_; }

 protected:
  /// Starts the reader. `about`: information for its work. `lines`: where its lines go; null if it makes
  /// none.
  [[nodiscard]] Result<void> begin_reading(std::string about, std::shared_ptr<RecordingFile> lines);
  /// The same, with its lines on standard output.
  [[nodiscard]] Result<void> begin_printing(std::string about);
  /// Handles other output of the reader, such as a measurement or an exception.
  virtual void take_part(const router::Reading::Frame& /*part*/) {}
  /// The reader has failed. By default the recording is stopped, since further data is useless.
  virtual void take_failure(const Error& /*why*/) { has_enough(); }
  /// Gives up on the reader and ignores further input.
  void give_up(const Error& why);
  /// Prints lines.
  transport::Task<Result<void>> append(std::string lines);

 private:
  transport::Task<void> take_frames();
  transport::Task<Result<void>> take_frame(router::Reading::Frame frame);
  [[nodiscard]] Result<void> take_file(std::string_view part);
  void print_notice(const std::string& notice);

  transport::Loop& loop_;
  const router::ReaderProcess& readers_;
  OutputFile* file_;
  std::shared_ptr<RecordingFile> lines_;
  std::optional<router::Reading> reading_;
  bool finished_ = false;
  bool any_ = false;
  bool made_file_ = false;
  std::size_t notices_ = 0;  ///< Since notices_since_.
  std::chrono::steady_clock::time_point notices_since_;
  std::optional<Result<void>> answered_;  ///< The result, once it has ended.
  transport::TaskSet taking_;
};

}  // namespace farport::cli
