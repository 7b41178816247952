// A recording that a reader reads: what it makes of it is shown, or kept.
#pragma once

#include <optional>
#include <string>

#include "base/output_file.hpp"
#include "cli/recording_sink.hpp"
#include "router/agent/readers/reading.hpp"

namespace farport::cli {

/// Starts what starts readers for a command. A runtime may say anything: whoever reads it has nothing but its
/// input and its output, and as much memory as there is for it. To be called before there is a loop; `work`
/// is done by each, with what it refers to as that is now. Errors: there can be none.
[[nodiscard]] Result<router::ReaderProcess> start_readers(router::ReaderWork work);

class ReaderSink : public RecordingSink {
 public:
  /// All must outlive this.
  ReaderSink(transport::Loop& loop, const router::ReaderProcess& readers);

  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) final;
  /// Passes when the reader has said all that it has to say of it.
  transport::Task<Result<void>> finish() override;
  void discard() override { lines_.reset(); }
  [[nodiscard]] Result<void> keep() override { return lines_ == nullptr ? Result<void>() : lines_->keep(); }
  /// Whether the reader has said anything of what it is to say.
  [[nodiscard]] bool any() const { return any_; }
  /// Whether the reader has all that it needs, whatever becomes of the rest.
  [[nodiscard]] bool said_enough() const { return said_enough_; }

 protected:
  /// Starts the reader. `about`: for its work. `lines`: where its lines go. `file`: where the file goes that
  /// it makes beside them; null: it makes none.
  [[nodiscard]] Result<void> begin_reading(std::string about, std::shared_ptr<RecordingFile> lines,
                                           OutputFile* file = nullptr);
  /// Something else that the reader says: a measurement, an exception.
  virtual void take_part(const router::Reading::Frame& /*part*/) {}
  /// There is no answer, for this reason. The recording is stopped then, since nothing of what may still come
  /// is of any use.
  virtual void take_failure(const Error& /*why*/) { has_enough(); }
  /// Prints lines.
  transport::Task<Result<void>> append(std::string lines);

 private:
  transport::Task<void> take_frames();
  transport::Task<Result<void>> take_frame(router::Reading::Frame frame);

  transport::Loop& loop_;
  const router::ReaderProcess& readers_;
  std::shared_ptr<RecordingFile> lines_;
  OutputFile* file_ = nullptr;
  std::optional<router::Reading> reading_;
  bool finished_ = false;
  bool any_ = false;
  bool said_enough_ = false;
  std::optional<Result<void>> answered_;  ///< How it has ended.
  transport::TaskSet taking_;
};

}  // namespace farport::cli
