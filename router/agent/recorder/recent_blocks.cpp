#include "router/agent/recorder/recent_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "nettrace/append.hpp"

namespace farport::router {
namespace {

using nettrace::append;
using nettrace::BlockKind;
using nettrace::BytesView;

/// A run ends when it has this many bytes. Compression gains from long runs, and memory from short ones: they
/// are dropped as a whole.
constexpr std::size_t kRunBytes = 64 * 1024;
/// Runtimes write blocks of about 100 KiB.
constexpr std::size_t kMaxFrameBytes = std::size_t{1} << 20;
/// The part of the limit that definitions may take, and that stacks without a sequence point may take.
constexpr std::size_t kMaxPart = 4;
/// The part of the limit that the newest run may take where there is too little room, before it is
/// compressed.
constexpr std::size_t kMaxOpenPart = 8;
/// Some 100 bytes stand before the first block.
constexpr std::size_t kMaxPreamble = 256;

/// Appends a block's content, behind its kind and its size.
void keep_block(std::vector<std::byte>& to, const nettrace::Frame& frame, BytesView bytes) {
  to.push_back(static_cast<std::byte>(frame.kind));
  append(to, static_cast<std::uint32_t>(frame.content_size));
  append(to, bytes.subspan(frame.content_begin, frame.content_size));
}

BytesView take_bytes(BytesView& from, std::size_t size) {
  const BytesView taken = from.first(size);
  from = from.subspan(size);
  return taken;
}

std::size_t take_size(BytesView& from) {
  std::uint32_t number = 0;
  std::memcpy(&number, take_bytes(from, sizeof(number)).data(), sizeof(number));
  return number;
}

/// Goes on with the stacks of a later run: its first events need what has come since the last sequence point.
void pass_run(BlockRuns& stacks, const BlockRun& run) {
  if (run.has_sequence_point) stacks.clear();
  if (run.stacks != nullptr) stacks.push_back(run.stacks);
}

std::shared_ptr<const BlockRun> plain_run(std::vector<std::byte> blocks) {
  BlockRun run;
  run.blocks.bytes = std::move(blocks);
  return std::make_shared<const BlockRun>(std::move(run));
}

std::size_t size_of(const BlockRuns& runs) {
  return std::accumulate(runs.begin(), runs.end(), std::size_t{0},
                         [](std::size_t size, const auto& run) { return size + run->size(); });
}

}  // namespace

std::vector<std::byte> RecentFile::next() {
  std::vector<std::byte> piece = std::exchange(preamble_, {});
  while (piece.empty() && !runs_.empty()) {
    const std::vector<std::byte> blocks = runs_.front()->blocks.plain();
    runs_.pop_front();
    for (BytesView rest = blocks; !rest.empty();) {
      const auto kind = static_cast<BlockKind>(take_bytes(rest, 1).front());
      const std::size_t size = take_size(rest);
      nettrace::append_block(piece, kind, take_bytes(rest, size), offset_);
    }
  }
  if (piece.empty() && !std::exchange(ended_, true)) piece.push_back(nettrace::kStreamEnd);
  offset_ += piece.size();
  return piece;
}

std::size_t RecentFile::held() const {
  return preamble_.size() + size_of(runs_);
}

RecentBlocks::RecentBlocks(std::size_t limit, Stacks stacks)
    : limit_(limit), stacks_wanted_(stacks), frames_(kMaxFrameBytes) {}

Result<void> RecentBlocks::take(BytesView bytes, Clock::time_point now) {
  Result<void> taken = frames_.feed(bytes, [this, now](const nettrace::Frame& frame, BytesView whole) {
    return take_frame(frame, whole, now);
  });
  trim();
  return taken;
}

Result<void> RecentBlocks::take_frame(const nettrace::Frame& frame, BytesView bytes, Clock::time_point now) {
  if (frames_.format() == 6)
    return nettrace::fail_at(frames_.offset(), "it has format 6, and only 4 and 5 can be kept");
  switch (frame.kind) {
    case BlockKind::metadata:
      keep_block(definitions_, frame, bytes);
      if (definitions_.size() <= limit_ / kMaxPart) return {};
      return nettrace::fail_at(frames_.offset(), "its definitions of events take too much memory");
    case BlockKind::stacks:
      if (stacks_wanted_ == Stacks::leave_out) return {};
      [[fallthrough]];
    case BlockKind::events:
    case BlockKind::sequence_point:
      add(frame, bytes, now);
      if (stacks_size_ + open_stacks_.size() <= limit_ / kMaxPart) return {};
      return nettrace::fail_at(frames_.offset(), "its stacks take too much memory");
    case BlockKind::end:
      return {};
    default:
      // The preamble, the Trace object and the tag behind it. Later on tags behind blocks, which are not
      // kept.
      if (frames_.offset() != preamble_.size()) return {};
      if (preamble_.size() + frame.size > kMaxPreamble)
        return nettrace::fail_at(frames_.offset(), "it has no first block");
      append(preamble_, bytes.first(frame.size));
      return {};
  }
}

void RecentBlocks::add(const nettrace::Frame& frame, BytesView bytes, Clock::time_point now) {
  const bool is_full = open_.blocks.size() >= kRunBytes || now - open_.begun >= kRunTime;
  if (is_full) end_run();
  if (open_.blocks.empty()) open_.begun = now;
  open_.ended = now;
  keep_block(open_.blocks.bytes, frame, bytes);
  if (frame.kind == BlockKind::stacks) keep_block(open_stacks_, frame, bytes);
  if (frame.kind != BlockKind::sequence_point) return;
  open_.has_sequence_point = true;
  open_stacks_.clear();
}

void RecentBlocks::end_run() {
  if (open_.blocks.empty()) return;
  open_.blocks.compress();
  if (!open_stacks_.empty()) {
    BlockRun stacks;
    stacks.blocks.bytes = std::exchange(open_stacks_, {});
    stacks.blocks.compress();
    open_.stacks = std::make_shared<const BlockRun>(std::move(stacks));
  }
  runs_size_ += open_.size();
  runs_.push_back(std::make_shared<const BlockRun>(std::exchange(open_, {})));
}

void RecentBlocks::drop_oldest() {
  const BlockRun& oldest = *runs_.front();
  dropped_until_ = oldest.ended;
  pass_run(stacks_, oldest);
  stacks_size_ = size_of(stacks_);
  runs_size_ -= oldest.size();
  runs_.pop_front();
}

void RecentBlocks::trim() {
  while (size() > limit_ && !(runs_.empty() && open_.blocks.empty())) {
    // Once the newest one is compressed, there may be room. Where the limit is small, it takes much of it.
    if (runs_.empty() || open_.size() > limit_ / kMaxOpenPart) {
      end_run();
    } else {
      drop_oldest();
    }
  }
}

void RecentBlocks::set_limit(std::size_t limit) {
  limit_ = limit;
  trim();
}

std::size_t RecentBlocks::size() const {
  return preamble_.size() + definitions_.size() + stacks_size_ + runs_size_ + open_.size() +
         open_stacks_.size() + frames_.held();
}

std::size_t RecentBlocks::size_since(Clock::time_point since) const {
  std::size_t size = open_.ended >= since ? open_.size() : 0;
  for (auto run = runs_.rbegin(); run != runs_.rend() && (*run)->ended >= since; ++run)
    size += (*run)->size();
  return size;
}

std::optional<RecentBlocks::Clock::time_point> RecentBlocks::begun() const {
  if (!runs_.empty()) return runs_.front()->begun;
  if (!open_.blocks.empty()) return open_.begun;
  return std::nullopt;
}

std::optional<RecentFile> RecentBlocks::file(Clock::time_point since) const {
  RecentFile file;
  BlockRuns stacks = stacks_;
  for (const auto& run : runs_) {
    if (run->ended >= since || !file.runs_.empty()) {
      file.runs_.push_back(run);
    } else {
      pass_run(stacks, *run);
    }
  }
  if (!open_.blocks.empty()) file.runs_.push_back(std::make_shared<const BlockRun>(open_));
  if (file.runs_.empty()) return std::nullopt;
  file.begun_ = file.runs_.front()->begun;
  file.runs_.insert(file.runs_.begin(), stacks.begin(), stacks.end());
  file.runs_.push_front(plain_run(definitions_));
  file.preamble_ = preamble_;
  return file;
}

}  // namespace farport::router
