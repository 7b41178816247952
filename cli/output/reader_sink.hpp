// A recording that a reader reads: what it makes of it is shown, or kept.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/output_file.hpp"
#include "cli/output/recording_sink.hpp"
#include "router/readers/reading.hpp"

namespace farport::cli {

/// What a runtime says goes to a reader, and what the reader says is printed, or goes to a file. Readers come
/// from start_readers() (cli/helpers.hpp).
class ReaderSink : public RecordingSink {
 public:
  /// All must outlive this.
  /// `file`: where the file goes that the reader makes beside its lines; null: it makes none.
  ReaderSink(transport::Loop& loop, const router::ReaderProcess& readers, OutputFile* file = nullptr);

  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) final;
  /// Passes when the reader has said all that it has to say of it.
  transport::Task<Result<void>> finish() override;
  void discard() override { lines_.reset(); }
  /// Of lines that go to a file.
  [[nodiscard]] Result<void> keep() override;
  /// Whether the reader has said anything of what it is to say.
  [[nodiscard]] bool any() const { return any_; }
  /// Whether the file that it makes is whole.
  [[nodiscard]] bool made_file() const { return made_file_; }

 protected:
  /// Starts the reader. `about`: for its work. `lines`: where its lines go; null: it makes none.
  [[nodiscard]] Result<void> begin_reading(std::string about, std::shared_ptr<RecordingFile> lines);
  /// The same; its lines go to standard output.
  [[nodiscard]] Result<void> begin_printing(std::string about);
  /// Something else that the reader says: a measurement, an exception.
  virtual void take_part(const router::Reading::Frame& /*part*/) {}
  /// There is no answer, for this reason. The recording is stopped then, since nothing of what may still come
  /// is of any use.
  virtual void take_failure(const Error& /*why*/) { has_enough(); }
  /// Nothing more can be done with what comes.
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
  std::optional<Result<void>> answered_;  ///< How it has ended.
  transport::TaskSet taking_;
};

}  // namespace farport::cli
