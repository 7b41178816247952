#include "cli/record_trace.hpp"

#include <cstdio>
#include <optional>

#include <unistd.h>

#include "cli/commands.hpp"
#include "cli/output_path.hpp"
#include "cli/recorder.hpp"
#include "cli/text.hpp"
#include "nettrace/reader.hpp"

namespace farport::cli {
namespace {

/// The file that the recording is kept in, as it comes.
class TraceFile final : public RecordingSink {
 public:
  TraceFile(transport::Loop& loop, const config::RecordingSettings& settings, ipc::CollectTracing wanted,
            events::EventFilter stopping_event)
      : loop_(loop), settings_(settings), wanted_(std::move(wanted)) {
    if (!stopping_event.provider.empty()) watch_.emplace(std::move(stopping_event));
  }

  /// Of what has been kept; empty: there is nothing.
  [[nodiscard]] const std::string& path() const { return kept_; }

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    path_ = output_path(settings_.output, runtime.name, ".nettrace");
    auto file = RecordingFile::create(path_, settings_.force);
    if (!file) return tl::unexpected(file.error());
    file_ = std::move(*file);
    return wanted_;
  }
  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) override {
    if (watch_) watch_->take(*piece);
    if (watch_ && watch_->event.seen()) has_enough();
    return file_->append(loop_, std::move(piece));
  }
  void discard() override { file_.reset(); }
  [[nodiscard]] Result<void> keep() override {
    if (file_ == nullptr) return {};
    auto kept = file_->keep();
    if (kept) kept_ = path_;
    return kept;
  }

 private:
  /// Looks for the event that ends it.
  struct Watch {
    explicit Watch(events::EventFilter filter) : event(std::move(filter)) {}

    void take(const Piece& piece) {
      if (failed) return;
      const Result<void> fed = reader.feed(std::span(piece.bytes).first(piece.size));
      failed = !fed;
      // The recording is kept as it comes nevertheless.
      if (failed) print_message("the event that ends it will not be seen: " + fed.error().message());
    }

    events::StoppingEvent event;
    nettrace::Reader reader{event};
    bool failed = false;
  };

  transport::Loop& loop_;
  const config::RecordingSettings& settings_;
  ipc::CollectTracing wanted_;
  std::shared_ptr<RecordingFile> file_;
  std::string path_;
  std::string kept_;
  std::optional<Watch> watch_;
};

}  // namespace

int record_trace(const config::RecordingSettings& settings, ipc::CollectTracing wanted,
                 events::EventFilter stopping_event) {
  transport::Loop loop;
  TraceFile file(loop, settings, std::move(wanted), std::move(stopping_event));
  const int code = record(settings, file, loop, Recorder::Progress::shown);
  if (file.path().empty()) return code;
  const std::string& path = file.path();
  std::printf("%s\n", ::isatty(STDOUT_FILENO) != 0 ? escape(path).c_str() : path.c_str());
  if (code == kInterrupted)
    print_message("it was ended before the runtime had said all: some methods may have no names");
  return code;
}

}  // namespace farport::cli
