#include "router/readers/reader_budget.hpp"

#include <algorithm>

#include "transport/race.hpp"

namespace farport::router {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr transport::Milliseconds kWait{30'000};
constexpr std::chrono::seconds kBaseProcessorTime{60};

}  // namespace

std::uint64_t memory_for_readers() {
  return std::clamp(memory_for_helpers(), 8 * kMiB, 1024 * kMiB);
}

std::uint64_t ReaderBudget::share_of(ReadingTask::Kind kind) const {
  // A profile's is held for as long as is sampled.
  const bool document = ReadingTask{kind}.makes_document() && kind != ReadingTask::Kind::profile;
  if (document) return std::min(total_ / 2, 256 * kMiB);
  // There is one of these for each runtime.
  if (kind == ReadingTask::Kind::metrics) return std::clamp(total_ / 256, kMiB / 2, 4 * kMiB);
  return std::clamp(total_ / 8, 2 * kMiB, 64 * kMiB);
}

ReaderBudget::Place::Place(ReaderBudget& budget, std::string owner, std::uint64_t bytes)
    : budget_(budget), owner_(std::move(owner)), bytes_(bytes) {
  budget_.taken_ += bytes_;
  budget_.taken_by_[owner_] += bytes_;
}

ReaderBudget::Place::~Place() {
  budget_.taken_ -= bytes_;
  const auto theirs = budget_.taken_by_.find(owner_);
  theirs->second -= bytes_;
  if (theirs->second == 0) budget_.taken_by_.erase(theirs);
  budget_.returned_.changed();
}

bool ReaderBudget::has_room(const std::string& owner, std::uint64_t bytes) const {
  const auto theirs = taken_by_.find(owner);
  const std::uint64_t has = theirs == taken_by_.end() ? 0 : theirs->second;
  return taken_ + bytes <= total_ && has + bytes <= total_ / 2;
}

transport::Task<std::unique_ptr<ReaderBudget::Place>> ReaderBudget::take(std::string owner,
                                                                         std::uint64_t bytes) {
  const transport::Deadline limit(loop_, kWait, [this] { returned_.changed(); });
  while (!has_room(owner, bytes)) {
    if (limit.expired()) co_return nullptr;
    co_await returned_.wait();
  }
  co_return std::make_unique<Place>(*this, std::move(owner), bytes);
}

transport::Task<Result<std::unique_ptr<ReaderBudget::Place>>> Readers::place_for(ReadingTask::Kind kind,
                                                                                 std::string owner) const {
  if (!running())
    co_return fail("read", "what the runtime writes", "the agent's process that starts readers has ended",
                   "start the agent again");
  auto place = co_await memory->take(std::move(owner), memory->share_of(kind));
  if (place == nullptr)
    co_return fail("read", "what the runtime writes",
                   "others that are read at the moment have all the memory that there is for it",
                   "try again in a while, or raise the agent's memory limit");
  co_return place;
}

std::uint32_t processor_seconds_for(transport::Milliseconds duration) {
  return static_cast<std::uint32_t>(
      (kBaseProcessorTime + std::chrono::floor<std::chrono::seconds>(duration) / 2).count());
}

}  // namespace farport::router
