#include "cli/commands/record_trace.hpp"

#include <optional>
#include <tuple>

#include "cli/options/commands.hpp"
#include "cli/output/output_path.hpp"
#include "cli/output/reader_sink.hpp"
#include "cli/output/recorder.hpp"
#include "cli/setup/helpers.hpp"
#include "cli/terminal/table.hpp"
#include "router/readers/answers.hpp"
#include "transport/race.hpp"

namespace farport::cli {
namespace {

/// How long to wait for the reader that watches for the event.
constexpr transport::Milliseconds kWatchLimit{5'000};

/// Has a reader watch for the event that ends the recording.
class EventWatch final : public ReaderSink {
 public:
  using ReaderSink::ReaderSink;

  Result<ipc::CollectTracing> prepare(const router::Runtime& /*runtime*/) override {
    const Result<void> begun = begin_reading({}, nullptr);
    if (!begun) return tl::unexpected(begun.error());
    return ipc::CollectTracing();
  }
  /// The reader does not keep up.
  void miss() { give_up({"look for", "the event", "its reader stands still", {}}); }
  /// Whether nobody watches for the event any more.
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  /// The recording itself continues.
  void take_failure(const Error& why) override {
    failed_ = true;
    print_message("the event that ends it will not be seen: " + why.message());
  }

  bool failed_ = false;
};

/// Writes the recording to a file as it comes.
class TraceFile final : public RecordingSink {
 public:
  /// `readers`: if an event ends the recording, otherwise null.
  TraceFile(transport::Loop& loop, const config::RecordingSettings& settings, ipc::CollectTracing wanted,
            const router::ReaderProcess* readers)
      : loop_(loop), settings_(settings), wanted_(std::move(wanted)) {
    if (readers == nullptr) return;
    watch_.emplace(loop, *readers);
    watch_->when_enough([this] { has_enough(); });
  }

  /// Path of the kept file; empty if there is none.
  [[nodiscard]] const std::string& path() const { return kept_; }

  Result<ipc::CollectTracing> prepare(const router::Runtime& runtime) override {
    if (watch_) {
      if (const auto watching = watch_->prepare(runtime); !watching) return watching;
    }
    path_ = output_path(settings_.output, runtime.name, ".nettrace");
    auto file = RecordingFile::create(path_, settings_.force);
    if (!file) return tl::unexpected(file.error());
    file_ = std::move(*file);
    return wanted_;
  }
  transport::Task<Result<void>> take(std::shared_ptr<const Piece> piece) override {
    auto appended = co_await file_->append(loop_, piece);
    if (watch_ && !watch_->failed()) {
      const auto looked = co_await with_deadline(loop_, watch_->take(piece), kWatchLimit);
      if (!looked) watch_->miss();
    }
    co_return appended;
  }
  void discard() override { file_.reset(); }
  [[nodiscard]] Result<void> keep() override {
    if (file_ == nullptr) return {};
    auto kept = file_->keep();
    if (kept) kept_ = path_;
    return kept;
  }

 private:
  transport::Loop& loop_;
  const config::RecordingSettings& settings_;
  ipc::CollectTracing wanted_;
  std::shared_ptr<RecordingFile> file_;
  std::string path_;
  std::string kept_;
  std::optional<EventWatch> watch_;
};

}  // namespace

int record_trace(const config::RecordingSettings& settings, ipc::CollectTracing wanted,
                 const events::EventFilter& stopping_event) {
  std::optional<router::ReaderProcess> readers;
  if (!stopping_event.provider.empty()) {
    auto started = start_readers(settings.remote, [&stopping_event](const auto&, auto& from, auto& to) {
      events::StoppingEvent search(stopping_event);
      return router::make_lines(search, from, to);
    });
    if (!started) return report(started.error());
    readers.emplace(std::move(*started));
  }
  transport::Loop loop;
  TraceFile file(loop, settings, std::move(wanted), readers ? &*readers : nullptr);
  const int code = record(settings, file, loop, Recorder::Progress::shown);
  if (file.path().empty()) return code;
  std::ignore = print_path(file.path());
  if (code == kInterrupted)
    print_message("it was ended before the runtime had said all: some methods may have no names");
  return code;
}

}  // namespace farport::cli
