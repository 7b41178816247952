#include "router/agent/recorder/recorded_samples.hpp"

#include <span>
#include <utility>

#include "nettrace/append.hpp"
#include "router/cpu_samples/sample_events.hpp"
#include "transport/race.hpp"

namespace farport::router {
namespace {

using transport::IoStatus;
using transport::Task;

constexpr std::size_t kSamplesPiece = 16 * 1024;
/// Naming the functions of native code takes some tens of milliseconds.
constexpr transport::Milliseconds kRunEndLimit{2'000};

}  // namespace

std::vector<std::byte> SampleFile::next() {
  std::vector<std::byte> piece;
  if (runs_.empty()) return piece;
  const std::vector<std::byte> stream = runs_.front()->stream.plain();
  runs_.pop_front();
  nettrace::append(piece, static_cast<std::uint32_t>(stream.size()));
  nettrace::append(piece, stream);
  return piece;
}

Task<Result<void>> RecordedSamples::record(std::unique_ptr<RuntimeSampling> sampling) {
  sampling_ = std::move(sampling);
  SampleRun run;
  run.begun = Clock::now();
  auto read = co_await read_run(run);
  run.ended = Clock::now();
  sampling_.reset();
  if (read) keep(std::move(run));
  ended_.changed();
  co_return read;
}

Task<Result<void>> RecordedSamples::read_run(SampleRun& run) {
  std::vector<std::byte> piece(kSamplesPiece);
  std::vector<std::byte>& stream = run.stream.bytes;
  for (;;) {
    const transport::Io got = co_await sampling_->stream().read(piece);
    if (got.status == IoStatus::end) co_return Result<void>();
    if (got.status == IoStatus::failed) co_return tl::unexpected(sampling_->stream().error());
    nettrace::append(stream, std::span(piece).first(got.bytes));
    // What names the addresses follows.
    if (stream.size() > kMaxSamplesBytes / 2) sampling_->stop();
    if (stream.size() > kMaxSamplesBytes) co_return fail("keep", "the samples", "they take too much memory");
  }
}

void RecordedSamples::keep(SampleRun run) {
  run.stream.compress();
  size_ += run.stream.size();
  runs_.push_back(std::make_shared<const SampleRun>(std::move(run)));
  for (const std::size_t limit = limit_(); size_ > limit && !runs_.empty(); runs_.pop_front())
    size_ -= runs_.front()->stream.size();
}

Task<void> RecordedSamples::end_run() {
  if (sampling_ == nullptr) co_return;
  sampling_->stop();
  co_await with_deadline(loop_, ended_.wait(), kRunEndLimit);
}

SampleFile RecordedSamples::file(Clock::time_point since) const {
  SampleFile file;
  for (const auto& run : runs_) {
    if (run->ended >= since) file.runs_.push_back(run);
  }
  return file;
}

}  // namespace farport::router
