#include "router/agent/recorder/recorded_samples.hpp"

#include <algorithm>
#include <numeric>
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
/// Naming the functions of native code usually takes some tens of milliseconds. Where it takes longer, the
/// run is not in what is asked for now.
constexpr transport::Milliseconds kRunEndLimit{2'000};
/// How much larger a run may be before compression than all of them after it.
constexpr std::size_t kCompression = 4;

tl::unexpected<Error> too_much() {
  return fail("keep", "the samples", "they take too much memory", "raise recorder.runtime_memory");
}

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

std::size_t SampleFile::held() const {
  return std::accumulate(runs_.begin(), runs_.end(), std::size_t{0},
                         [](std::size_t size, const auto& run) { return size + run->stream.size(); });
}

Task<Result<void>> RecordedSamples::record(std::unique_ptr<SamplerWork> sampling) {
  struct UnderWay {
    RecordedSamples& samples;
    ~UnderWay() {
      samples.sampling_.reset();
      samples.open_ = {};
      samples.ended_.changed();
    }
  } const under_way{*this};
  sampling_ = std::move(sampling);
  open_.begun = Clock::now();
  CO_RETURN_IF_ERROR(co_await read_run());
  co_return keep_run();
}

Task<Result<void>> RecordedSamples::read_run() {
  std::vector<std::byte> piece(kSamplesPiece);
  const std::size_t most = std::min(kMaxSamplesBytes, kCompression * limit_());
  for (;;) {
    const transport::Io got = co_await sampling_->stream().read(piece);
    if (got.status == IoStatus::end) co_return Result<void>();
    if (got.status == IoStatus::failed) co_return tl::unexpected(sampling_->stream().error());
    nettrace::append(open_.stream.bytes, std::span(piece).first(got.bytes));
    // What names the addresses follows.
    if (open_.stream.size() > most / 2) sampling_->stop();
    if (open_.stream.size() > most) co_return too_much();
  }
}

Result<void> RecordedSamples::keep_run() {
  SampleRun run = std::exchange(open_, {});
  run.ended = Clock::now();
  run.stream.compress();
  const std::size_t most = limit_();
  if (run.stream.size() > most) return too_much();
  size_ += run.stream.size();
  runs_.push_back(std::make_shared<const SampleRun>(std::move(run)));
  trim(most);
  return {};
}

void RecordedSamples::drop_oldest() {
  size_ -= runs_.front()->stream.size();
  runs_.pop_front();
}

void RecordedSamples::trim(std::size_t most) {
  while (size_ > most && !runs_.empty()) drop_oldest();
}

void RecordedSamples::drop_before(Clock::time_point time) {
  while (!runs_.empty() && runs_.front()->ended < time) drop_oldest();
}

Task<void> RecordedSamples::end_run() {
  if (!is_under_way() || Clock::now() - open_.begun < kShortestRun) co_return;
  sampling_->stop();
  co_await run_end();
}

Task<void> RecordedSamples::run_end() {
  if (is_under_way()) co_await with_deadline(loop_, ended_.wait(), kRunEndLimit);
}

SampleFile RecordedSamples::file(Clock::time_point since) const {
  SampleFile file;
  for (const auto& run : runs_) {
    if (run->ended >= since) file.runs_.push_back(run);
  }
  return file;
}

}  // namespace farport::router
